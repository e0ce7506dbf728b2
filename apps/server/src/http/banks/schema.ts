import { Type } from 'typebox';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { BANK_STATUSES } from '../../rails/bank-status.ts';
import { accessToken, errorResponses, nullable, successResponse, Timestamp } from '../schemas.ts';

const Quantiles = (title: string, what: string, unit: string) =>
  nullable(
    Type.Object(
      {
        [`p50_${unit}`]: Type.Integer({ description: 'Half took at most this long.', minimum: 0, examples: [140] }),
        [`p95_${unit}`]: Type.Integer({ description: '19 of 20 took at most this long.', minimum: 0, examples: [420] }),
      },
      { title, additionalProperties: false },
    ),
    `${what} null while there are too few.`,
  );

const names = {
  bank_code: Type.String({
    description: "Clearing code. A sharia unit shares its bank's. Of an e-wallet, its name; of aliases, BIFAST.",
    examples: ['014', 'GOPAY', 'BIFAST'],
  }),
  bic: nullable(Type.String({ examples: ['CENAIDJA'] }), 'ISO 9362; unique. null for what is no bank.'),
  bank_name: Type.String({ description: 'Full bank name.', examples: ['Bank Central Asia'] }),
};

export const BANKS_FOUND: BilingualText = { en: 'Banks found', id: 'Daftar bank ditemukan' };

export const BANK_FOUND: BilingualText = { en: 'Bank found', id: 'Bank ditemukan' };

/** A bank in an event. */
export const BankStateSchema = Type.Object(
  {
    ...names,
    // The example is that of `bank.down`, the first of its kinds.
    status: Type.Enum(['UP', 'DOWN'], { description: 'Availability of account checks.', examples: ['DOWN'] }),
    since: Timestamp,
  },
  { title: 'BankState', additionalProperties: false },
);

export const BankStatus = Type.Enum([...BANK_STATUSES], {
  title: 'BankStatus',
  description: 'Recent availability of account checks. DOWN: none succeeds. DEGRADED: some fail.',
});

const BankSchema = Type.Object(
  {
    ...names,
    short_names: Type.Array(Type.String({ examples: ['BCA'] }), {
      description: 'Short names that `bank_code` accepts for this bank.',
    }),
    type: Type.Enum(['BANK', 'E_WALLET', 'ALIAS_DIRECTORY'], { title: 'BankType' }),
    account_number_type: Type.Enum(['ACCOUNT_NUMBER', 'MOBILE_NUMBER', 'ALIAS'], {
      title: 'AccountNumberType',
      description:
        'ACCOUNT_NUMBER: 5 to 34 digits. MOBILE_NUMBER: `0812…`, `62812…` or `+62812…`. ALIAS: a mobile number or an ' +
        'e-mail address.',
    }),
    account_number_length: nullable(
      Type.Integer({ minimum: 1, examples: [10] }),
      'The digits of each account number of this bank; null unless the bank publishes it.',
    ),
    check_account: Type.Boolean({
      description: 'Whether accounts of this bank can be checked here. false: each check is UNSUPPORTED_BANK.',
    }),
    status: nullable(BankStatus, 'null where check_account is false.'),
    since: nullable(Timestamp, 'When the status last changed; null if it has not changed since the service started.'),
    account_checks: Quantiles('AccountCheckTimes', 'How long recent account checks took at the bank;', 'ms'),
    disbursements: Quantiles('DisbursementTimes', 'How long recent disbursements were in PROCESS;', 'seconds'),
  },
  { title: 'Bank', additionalProperties: false },
);

const common = { tags: ['Banks'], security: accessToken('account:check') };

export const listBanksSchema = {
  ...common,
  operationId: 'listBanks',
  summary: 'List banks and their availability',
  description:
    'Every bank that has a code here: its names, whether its accounts can be checked, and its current availability.',
  response: {
    200: successResponse(
      Type.Object({ banks: Type.Array(BankSchema) }, { title: 'BankList', additionalProperties: false }),
      BANKS_FOUND,
      'The banks, by clearing code.',
    ),
    ...errorResponses([]),
  },
};

export const readBankSchema = {
  ...common,
  operationId: 'getBank',
  summary: 'Get a bank and its availability',
  description: 'One bank of the list, by any of its codes.',
  params: Type.Object({
    code: Type.String({ description: 'Clearing code, BIC or short name.', examples: ['014', 'CENAIDJA', 'BCA'] }),
  }),
  response: {
    200: successResponse(BankSchema, BANK_FOUND, 'The bank.'),
    ...errorResponses(['INVALID_BANK_CODE']),
  },
};
