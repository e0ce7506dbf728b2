import { Type } from 'typebox';
import { BANK_STATUSES } from '../../rails/bank-status.ts';
import { errorResponses, nullable, successResponse, Timestamp } from '../schemas.ts';

const Quantiles = (what: string, unit: string) =>
  nullable(
    Type.Object(
      {
        [`p50_${unit}`]: Type.Integer({ minimum: 0 }),
        [`p95_${unit}`]: Type.Integer({ minimum: 0 }),
      },
      { additionalProperties: false },
    ),
    `${what} null while too few are known.`,
  );

const names = {
  bank_code: Type.String({ description: "Clearing code. A sharia unit shares its bank's.", examples: ['014'] }),
  bic: Type.String({ description: 'ISO 9362; unique.', examples: ['CENAIDJA'] }),
  bank_name: Type.String({ examples: ['Bank Central Asia'] }),
};

/** What an event tells of a bank. */
export const BankStateSchema = Type.Object(
  { ...names, status: Type.Enum(['UP', 'DOWN'], { description: 'Of account checks.' }), since: Timestamp },
  { additionalProperties: false },
);

const BankSchema = Type.Object(
  {
    ...names,
    short_names: Type.Array(Type.String(), { description: 'What else it answers to as `bank_code`.' }),
    check_account: Type.Boolean({ description: 'Whether its accounts can be checked here.' }),
    status: nullable(
      Type.Enum([...BANK_STATUSES]),
      'Of account checks, as found lately. DOWN: none is answered. DEGRADED: some are not. null where check_account is false: nobody asks it.',
    ),
    since: nullable(Timestamp, 'null when nothing has changed since the start.'),
    account_checks: Quantiles('How long recent account checks took at the bank;', 'ms'),
    disbursements: Quantiles('How long recent disbursements were in PROCESS;', 'seconds'),
  },
  { additionalProperties: false },
);

const common = { tags: ['Banks'], security: [{ bearer: ['account:check'] }] };

export const listBanksSchema = {
  ...common,
  operationId: 'listBanks',
  summary: 'The banks, and how they are',
  description:
    'Every bank that has a code here: its names, what can be asked about it, and whether it answers at the moment.',
  response: {
    200: successResponse(
      Type.Object({ banks: Type.Array(BankSchema) }, { additionalProperties: false }),
      'Banks found',
      'The banks, by clearing code.',
    ),
    ...errorResponses([]),
  },
};

export const readBankSchema = {
  ...common,
  operationId: 'getBank',
  summary: 'A bank, and how it is',
  params: Type.Object({
    code: Type.String({ description: 'Clearing code, BIC or short name.', examples: ['014', 'CENAIDJA', 'BCA'] }),
  }),
  response: {
    200: successResponse(BankSchema, 'Bank found', 'The bank.'),
    ...errorResponses(['INVALID_BANK_CODE']),
  },
};
