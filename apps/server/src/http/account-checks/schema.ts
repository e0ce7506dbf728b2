import { Type } from 'typebox';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { AccountStatus } from '../check-account/schema.ts';
import { nextPage, pageParameters } from '../pages.ts';
import { accessToken, errorResponses, nullable, successResponse, Timestamp } from '../schemas.ts';

export const CHECKS_FOUND: BilingualText = {
  en: 'Account checks found',
  id: 'Pengecekan rekening ditemukan',
};

/** Why there was no verdict, as check-account answered it. */
export const NO_VERDICT_ERRORS = [
  'SERVICE_UNAVAILABLE',
  'UNSUPPORTED_BANK',
  'RATE_LIMIT_EXCEEDED',
  'INTERNAL_ERROR',
] as const;

const REQUEST_ID = 'q2Zs8mJ4nT1v-17';

const CheckSchema = Type.Object(
  {
    checked_at: Timestamp,
    bank_code: Type.String({
      description: 'The clearing code of the bank; for a sharia unit, its BIC.',
      examples: ['014'],
    }),
    bank_name: Type.String({ description: 'Full bank name.', examples: ['Bank Central Asia'] }),
    status: nullable(AccountStatus, 'The verdict; null when there was none.'),
    error_code: nullable(
      Type.Enum([...NO_VERDICT_ERRORS], { title: 'NoVerdictError' }),
      'Why there was no verdict; null when there was one.',
    ),
    age_seconds: nullable(
      Type.Integer({ minimum: 0, examples: [42] }),
      'How old the verdict was, when it was an earlier one. Usually null.',
    ),
    request_id: nullable(
      Type.String({ examples: [REQUEST_ID] }),
      'The `X-Request-Id` of the response; null for a row of a bulk validation.',
    ),
  },
  {
    title: 'AccountCheckEntry',
    additionalProperties: false,
    examples: [
      {
        checked_at: '2026-11-21T04:32:26.123Z',
        bank_code: '014',
        bank_name: 'Bank Central Asia',
        status: 'ACTIVE',
        error_code: null,
        age_seconds: null,
        request_id: REQUEST_ID,
      },
    ],
  },
);

export const listAccountChecksSchema = {
  tags: ['Account validation'],
  security: accessToken('account:check'),
  operationId: 'listAccountChecks',
  summary: 'List your own account checks, the newest first',
  description:
    'Single checks and rows of bulk validations, as they were recorded. Account numbers and names are not stored: ' +
    'send the account number to find the checks of that account. Records are deleted after some time.',
  querystring: Type.Object({
    account_number: Type.Optional(
      Type.String({
        description: 'The whole number; of an e-wallet the mobile number, of an alias the e-mail address, too.',
        examples: ['1234567890', '081234567890'],
      }),
    ),
    bank_code: Type.Optional(
      Type.String({
        description: 'Only with `account_number`: the account at this bank. Without it: at any bank.',
        examples: ['014'],
      }),
    ),
    request_id: Type.Optional(
      Type.String({
        description: 'The `X-Request-Id` of a response of check-account.',
        maxLength: 128,
        examples: [REQUEST_ID],
      }),
    ),
    checked_from: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'RFC 3339: checked at this time or later.',
        examples: ['2026-11-21T00:00:00Z'],
      }),
    ),
    checked_to: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'RFC 3339: checked before this time.',
        examples: ['2026-11-22T00:00:00Z'],
      }),
    ),
    ...pageParameters,
  }),
  response: {
    200: successResponse(
      Type.Object(
        {
          account_checks: Type.Array(CheckSchema),
          ...nextPage,
        },
        { title: 'AccountCheckList', additionalProperties: false },
      ),
      CHECKS_FOUND,
      'The checks. `Link` with `rel="next"` is the address of the next page (RFC 8288).',
      { headers: ['Link'] },
    ),
    ...errorResponses(['INVALID_REQUEST', 'INVALID_BANK_CODE']),
  },
};
