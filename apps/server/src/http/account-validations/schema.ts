import { Type } from 'typebox';
import { ROW_ERRORS, VALIDATION_STATES } from '../../domain/account-validation.ts';
import { BankStatus } from '../banks/schema.ts';
import { AccountStatus, NameMatchSchema } from '../check-account/schema.ts';
import { nullable, Timestamp } from '../schemas.ts';
import type { ResultJson } from './result-json.ts';

/** Shapes that the operations on account validations share. */

const count = (description: string) => Type.Integer({ description, minimum: 0 });

export const ValidationId = Type.String({
  description: 'The ID of a bulk validation.',
  pattern: '^av_[0-9a-f]{20}$',
  examples: ['av_5f0c1d2e3b4a59687786'],
});

const validationFields = {
  validation_id: ValidationId,
  state: Type.Enum([...VALIDATION_STATES], {
    title: 'ValidationState',
    description: 'COMPLETED: each row has a result. CANCELLED: no more accounts are checked.',
  }),
  rows: count('The number of rows that were sent.'),
  results: count('The number of rows that have a result.'),
  counts: Type.Object(
    {
      active: count('ACTIVE: these accounts can be paid.'),
      inactive: count('INACTIVE.'),
      not_found: count('NOT_FOUND.'),
      blocked: count('BLOCKED.'),
      invalid: count('Rows that cannot be checked: INVALID_BANK_CODE, INVALID_FORMAT, UNSUPPORTED_BANK.'),
      no_verdict: count('SERVICE_UNAVAILABLE: the bank gave no verdict, which says nothing about the account.'),
    },
    { title: 'ResultCounts', additionalProperties: false, description: 'The number of results of each kind.' },
  ),
  held_until: nullable(
    Timestamp,
    'You reached a limit of your account checks: the validation is paused until this time. Usually null.',
  ),
  created_at: Timestamp,
  ended_at: nullable(Timestamp, 'null while RUNNING.'),
};

export const VALIDATION_EXAMPLE = {
  validation_id: 'av_5f0c1d2e3b4a59687786',
  state: 'RUNNING',
  rows: 4,
  results: 3,
  counts: { active: 1, inactive: 0, not_found: 1, blocked: 0, invalid: 1, no_verdict: 0 },
  held_until: null,
  created_at: '2026-11-21T04:32:26.123Z',
  ended_at: null,
};

/** Also the data of the event `account_validation.ended`. */
export const ValidationSchema = Type.Object(validationFields, {
  title: 'AccountValidation',
  additionalProperties: false,
  examples: [
    {
      ...VALIDATION_EXAMPLE,
      state: 'COMPLETED',
      results: 4,
      counts: { active: 2, inactive: 0, not_found: 1, blocked: 0, invalid: 1, no_verdict: 0 },
      ended_at: '2026-11-21T04:32:31.402Z',
    },
  ],
});

export const ValidationProgressSchema = Type.Object(
  {
    ...validationFields,
    seconds_left: nullable(
      Type.Integer({ minimum: 0, examples: [2] }),
      'An estimate from the pace so far; null when there is no result yet, or when the validation has ended.',
    ),
    in_flight: Type.Integer({
      description: 'Accounts that a bank is being asked about. A cancelled validation still gets their results.',
      minimum: 0,
      examples: [1],
    }),
    waiting: Type.Array(
      Type.Object(
        {
          bank_code: Type.String({ description: 'Clearing code.', examples: ['002'] }),
          bank_name: Type.String({ description: 'Full bank name.', examples: ['Bank Rakyat Indonesia'] }),
          accounts: Type.Integer({ description: 'The number of accounts that wait.', minimum: 1 }),
          bank_status: BankStatus,
        },
        { title: 'WaitingBank', additionalProperties: false },
      ),
      { description: 'Accounts that wait to be checked, by bank.' },
    ),
  },
  {
    title: 'AccountValidationProgress',
    additionalProperties: false,
    examples: [
      {
        ...VALIDATION_EXAMPLE,
        seconds_left: 2,
        in_flight: 1,
        waiting: [{ bank_code: '002', bank_name: 'Bank Rakyat Indonesia', accounts: 1, bank_status: 'UP' }],
      },
    ],
  },
);

export const RESULT_EXAMPLE: ResultJson = {
  sequence: 1,
  row: 2,
  reference: 'INV-1',
  bank_code: '014',
  bank_name: 'Bank Central Asia',
  account_number: '1234567890',
  expected_account_name: 'Budi Santoso',
  account_name: 'BUDI SANTOSO',
  is_valid: true,
  status: 'ACTIVE',
  name_match: { result: 'MATCH', score: 1, reasons: ['EXACT'] },
  error_code: null,
  message: null,
  checked_at: '2026-11-21T04:32:26.123Z',
};

export const ValidationResultSchema = Type.Object(
  {
    sequence: Type.Integer({
      description: 'The position among the results, in the order in which they were recorded.',
      minimum: 1,
    }),
    row: Type.Integer({
      description: 'The line of your table, whose header is line 1; or the position in your JSON array, from 1.',
    }),
    reference: nullable(Type.String({ examples: ['INV-1'] }), 'As sent.'),
    bank_code: nullable(Type.String({ examples: ['014'] }), 'As sent.'),
    bank_name: nullable(Type.String({ examples: ['Bank Central Asia'] }), 'Full bank name.'),
    account_number: nullable(Type.String({ examples: ['1234567890'] }), 'As sent.'),
    expected_account_name: nullable(Type.String({ examples: ['Budi Santoso'] }), 'As sent.'),
    account_name: nullable(Type.String({ examples: ['BUDI SANTOSO'] }), "The holder's name; null unless ACTIVE."),
    is_valid: nullable(Type.Boolean(), 'true exactly when status is ACTIVE; null when there is no verdict.'),
    status: nullable(AccountStatus, 'The verdict; null when there is none.'),
    name_match: nullable(NameMatchSchema, 'null unless the row has `expected_account_name` and a verdict.'),
    error_code: nullable(Type.Enum([...ROW_ERRORS], { title: 'RowError' }), 'Why there is no verdict.'),
    message: nullable(
      Type.String({ examples: ['Invalid bank code'] }),
      'What is wrong and what to do next, in the language that `Accept-Language` prefers.',
    ),
    checked_at: Timestamp,
  },
  { title: 'AccountValidationResult', additionalProperties: false, examples: [RESULT_EXAMPLE] },
);
