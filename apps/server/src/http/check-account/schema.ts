import { Type } from 'typebox';
import { ACCOUNT_STATUSES } from '../../domain/account.ts';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { NAME_MATCH_RESULTS } from '../../name-match/name-match.ts';
import { NAME_MATCH_REASONS } from '../../name-match/reasons.ts';
import { NAME_LENGTH_MAX } from '../../name-match/words.ts';
import { accessToken, errorResponses, nullable, successResponse } from '../schemas.ts';

/** docs/name-match.md. */
export const NameMatchSchema = Type.Object(
  {
    result: Type.Enum([...NAME_MATCH_RESULTS], {
      title: 'NameMatchResult',
      description:
        'MATCH: you can pay. CLOSE_MATCH: a person should compare the names. NOT_POSSIBLE: no comparison is possible.',
    }),
    score: Type.Number({ description: 'Orders results of the same kind.', minimum: 0, maximum: 1, examples: [1] }),
    reasons: Type.Array(Type.Enum(Object.keys(NAME_MATCH_REASONS), { title: 'NameMatchReason' }), {
      description: 'Why; see docs/name-match.md.',
    }),
  },
  {
    title: 'NameMatch',
    additionalProperties: false,
    description: 'Only when the request has `expected_account_name`.',
    examples: [{ result: 'MATCH', score: 1, reasons: ['EXACT'] }],
  },
);

/** docs/contract.md 3.2. */
export const AccountStatus = Type.Enum([...ACCOUNT_STATUSES], {
  title: 'AccountStatus',
  description:
    'ACTIVE: it can receive money. INACTIVE: it exists and is not active. NOT_FOUND: there is no such account. ' +
    'BLOCKED: it is blocked or suspended.',
});

/** docs/contract.md 2.3. */
const CheckedAccountSchema = Type.Object(
  {
    bank_code: Type.String({ description: 'As sent.', examples: ['014'] }),
    bank_name: Type.String({ description: 'Full bank name.', examples: ['Bank Central Asia'] }),
    account_number: Type.String({ description: 'As sent.', examples: ['1234567890'] }),
    account_name: nullable(Type.String({ examples: ['BUDI SANTOSO'] }), "The holder's name; null unless ACTIVE."),
    is_valid: Type.Boolean({ description: 'true exactly when status is ACTIVE.' }),
    status: AccountStatus,
    name_match: Type.Optional(NameMatchSchema),
  },
  {
    title: 'CheckedAccount',
    additionalProperties: false,
    examples: [
      {
        bank_code: '014',
        bank_name: 'Bank Central Asia',
        account_number: '1234567890',
        account_name: 'BUDI SANTOSO',
        is_valid: true,
        status: 'ACTIVE',
      },
    ],
  },
);

export const VALIDATION_SUCCESSFUL: BilingualText = {
  en: 'Account validation successful',
  id: 'Validasi rekening berhasil',
};

export const checkAccountSchema = {
  tags: ['Account validation'],
  security: accessToken('account:check'),
  operationId: 'checkAccount',
  summary: 'Check a bank account before paying to it',
  description:
    'Asks the bank in real time and answers within 5 seconds. A bank that cannot answer now is ' +
    'SERVICE_UNAVAILABLE, never NOT_FOUND. A known bank that this service has no connection to is UNSUPPORTED_BANK.',
  headers: Type.Object({
    'cache-control': Type.Optional(
      Type.String({
        description:
          'Extension: `max-age=300` accepts a verdict from one of your own checks in the last 300 seconds, if the ' +
          'operator has enabled the verdict cache. `Age` then gives its age in seconds.',
        examples: ['max-age=300'],
      }),
    ),
  }),
  body: Type.Object(
    {
      bank_code: Type.String({
        description: 'Clearing code, BIC or short name; of an e-wallet, its name; of an alias, `BIFAST`.',
        examples: ['014', 'CENAIDJA', 'BCA', 'GOPAY', 'BIFAST'],
      }),
      account_number: Type.String({
        description:
          '5 to 34 digits. Of an e-wallet the mobile number: `0812…`, `62812…` or `+62812…`. Of an alias the mobile ' +
          'number or the e-mail address.',
        pattern: '^(?:\\+?[0-9]{5,34}|[^@ ]{1,64}@[^@ ]{3,189})$',
        examples: ['1234567890', '081234567890', 'budi@example.co.id'],
      }),
      expected_account_name: Type.Optional(
        Type.String({
          description: 'Extension: the name to compare with the name that the bank holds.',
          minLength: 1,
          maxLength: NAME_LENGTH_MAX,
          examples: ['Budi Santoso'],
        }),
      ),
    },
    { title: 'AccountCheck', examples: [{ bank_code: '014', account_number: '1234567890' }] },
  ),
  response: {
    200: successResponse(
      CheckedAccountSchema,
      VALIDATION_SUCCESSFUL,
      'The verdict. A negative verdict is a success, too.',
      { headers: ['Age'] },
    ),
    ...errorResponses([
      'INVALID_BANK_CODE',
      'UNSUPPORTED_BANK',
      'INVALID_FORMAT',
      'PAYLOAD_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
    ]),
  },
};
