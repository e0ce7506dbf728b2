import { Type } from 'typebox';
import { ACCOUNT_STATUSES } from '../../domain/account.ts';
import { errorResponses, successEnvelope } from '../schemas.ts';

/** Service document 2.3. */
const AccountValidationSchema = Type.Object(
  {
    bank_code: Type.String({ description: 'As sent.' }),
    bank_name: Type.String({ description: 'Full bank name.' }),
    account_number: Type.String({ description: 'As sent.' }),
    account_name: Type.Union([Type.String(), Type.Null()], { description: "The holder's name; null unless ACTIVE." }),
    is_valid: Type.Boolean({ description: 'true exactly when status is ACTIVE.' }),
    status: Type.Enum([...ACCOUNT_STATUSES]),
  },
  { additionalProperties: false },
);

export const checkAccountSchema = {
  tags: ['Account validation'],
  security: [{ bearer: ['account:check'] }],
  operationId: 'checkAccount',
  summary: 'Check a bank account before paying to it',
  description:
    'Can it arrive? Asks the bank in real time and answers within 5 seconds. A bank that cannot answer is SERVICE_UNAVAILABLE, never NOT_FOUND.',
  body: Type.Object({
    bank_code: Type.String({ description: 'Clearing code, BIC or short name.', examples: ['014', 'CENAIDJA', 'BCA'] }),
    account_number: Type.String({ description: '5 to 34 digits.', pattern: '^[0-9]{5,34}$', examples: ['1234567890'] }),
  }),
  response: {
    200: Type.Object(successEnvelope(AccountValidationSchema, 'Account validation successful').properties, {
      description: 'The verdict; a negative one is a success too.',
    }),
    ...errorResponses(['INVALID_BANK_CODE', 'INVALID_FORMAT', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE']),
  },
};
