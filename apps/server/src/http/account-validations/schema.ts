import { Type } from 'typebox';
import { ACCOUNT_STATUSES } from '../../domain/account.ts';
import { ROW_ERRORS, VALIDATION_STATES } from '../../domain/account-validation.ts';
import { BANK_STATUSES } from '../../rails/bank-status.ts';
import { NameMatchSchema } from '../check-account/schema.ts';
import { nullable, Timestamp } from '../schemas.ts';

/** Shapes that the operations on account validations share. */

const count = (description: string) => Type.Integer({ description, minimum: 0 });

export const ValidationId = Type.String({ pattern: '^av_[0-9a-f]{20}$', examples: ['av_5f0c1d2e3b4a59687786'] });

const validationFields = {
  validation_id: ValidationId,
  state: Type.Enum([...VALIDATION_STATES], {
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
    { additionalProperties: false, description: 'The number of results of each kind.' },
  ),
  held_until: nullable(
    Timestamp,
    'You reached a limit of your account checks: the validation is paused until this time. Usually null.',
  ),
  created_at: Timestamp,
  ended_at: nullable(Timestamp, 'null while RUNNING.'),
};

/** Also the data of the event `account_validation.ended`. */
export const ValidationSchema = Type.Object(validationFields, { additionalProperties: false });

export const ValidationProgressSchema = Type.Object(
  {
    ...validationFields,
    seconds_left: nullable(
      Type.Integer({ minimum: 0 }),
      'An estimate from the pace so far; null when there is no result yet, or when the validation has ended.',
    ),
    waiting: Type.Array(
      Type.Object(
        {
          bank_code: Type.String(),
          bank_name: Type.String(),
          accounts: Type.Integer({ minimum: 1 }),
          bank_status: Type.Enum([...BANK_STATUSES], { description: 'As in GET /api/v1/banks.' }),
        },
        { additionalProperties: false },
      ),
      { description: 'Accounts that wait to be checked, by bank.' },
    ),
  },
  { additionalProperties: false },
);

export const ValidationResultSchema = Type.Object(
  {
    sequence: Type.Integer({
      description: 'The position among the results, in the order in which they were recorded.',
      minimum: 1,
    }),
    row: Type.Integer({
      description: 'The line of your table, whose header is line 1; or the position in your JSON array, from 1.',
    }),
    reference: nullable(Type.String(), 'As sent.'),
    bank_code: nullable(Type.String(), 'As sent.'),
    bank_name: nullable(Type.String(), 'Full bank name.'),
    account_number: nullable(Type.String(), 'As sent.'),
    expected_account_name: nullable(Type.String(), 'As sent.'),
    account_name: nullable(Type.String(), "The holder's name; null unless ACTIVE."),
    is_valid: nullable(Type.Boolean(), 'true exactly when status is ACTIVE; null when there is no verdict.'),
    status: nullable(Type.Enum([...ACCOUNT_STATUSES]), 'The verdict; null when there is none.'),
    name_match: nullable(NameMatchSchema, 'null unless the row has `expected_account_name` and a verdict.'),
    error_code: nullable(Type.Enum([...ROW_ERRORS]), 'Why there is no verdict.'),
    message: nullable(
      Type.String(),
      'What is wrong and what to do next, in the language that `Accept-Language` prefers.',
    ),
    checked_at: Timestamp,
  },
  { additionalProperties: false },
);
