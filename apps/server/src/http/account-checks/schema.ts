import { Type } from 'typebox';
import { ACCOUNT_STATUSES } from '../../domain/account.ts';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { errorResponses, nullable, successResponse, Timestamp } from '../schemas.ts';

export const LIMIT_MAX = 200;
export const LIMIT_DEFAULT = 50;

export const CHECKS_FOUND: BilingualText = {
  en: 'Account checks found',
  id: 'Pemeriksaan rekening ditemukan',
};

/** Why there was no verdict, as check-account answered it. */
export const NO_VERDICT_ERRORS = [
  'SERVICE_UNAVAILABLE',
  'UNSUPPORTED_BANK',
  'RATE_LIMIT_EXCEEDED',
  'INTERNAL_ERROR',
] as const;

const CheckSchema = Type.Object(
  {
    checked_at: Timestamp,
    bank_code: Type.String({ description: 'The clearing code of the bank; for a sharia unit, its BIC.' }),
    bank_name: Type.String({ description: 'Full bank name.' }),
    status: nullable(Type.Enum([...ACCOUNT_STATUSES]), 'The verdict; null when there was none.'),
    error_code: nullable(Type.Enum([...NO_VERDICT_ERRORS]), 'Why there was no verdict; null when there was one.'),
    age_seconds: nullable(
      Type.Integer({ minimum: 0 }),
      'How old the verdict was, when it was an earlier one. Usually null.',
    ),
    request_id: nullable(Type.String(), 'The `X-Request-Id` of the response; null for a row of a bulk validation.'),
  },
  { additionalProperties: false },
);

export const listAccountChecksSchema = {
  tags: ['Account validation'],
  security: [{ bearer: ['account:check'] }],
  operationId: 'listAccountChecks',
  summary: 'List your own account checks, the newest first',
  description:
    'Single checks and rows of bulk validations, as they were recorded. Account numbers and names are not stored: ' +
    'send the account number to find the checks of that account. Records are deleted after some time.',
  querystring: Type.Object({
    account_number: Type.Optional(
      Type.String({ description: 'The whole number.', pattern: '^[0-9]{5,34}$', examples: ['1234567890'] }),
    ),
    bank_code: Type.Optional(
      Type.String({
        description: 'Only with `account_number`: the account at this bank. Without it: at any bank.',
        examples: ['014'],
      }),
    ),
    request_id: Type.Optional(
      Type.String({ description: 'The `X-Request-Id` of a response of check-account.', maxLength: 128 }),
    ),
    checked_from: Type.Optional(
      Type.String({ format: 'date-time', description: 'RFC 3339: checked at this time or later.' }),
    ),
    checked_to: Type.Optional(Type.String({ format: 'date-time', description: 'RFC 3339: checked before this time.' })),
    limit: Type.Optional(
      Type.Integer({ description: 'The size of a page.', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT }),
    ),
    cursor: Type.Optional(
      Type.String({ description: 'The `next_cursor` of the previous page, with the same filters as there.' }),
    ),
  }),
  response: {
    200: successResponse(
      Type.Object(
        {
          account_checks: Type.Array(CheckSchema),
          next_cursor: nullable(Type.String(), 'Send it as `cursor` for the next page. null: this is the last one.'),
          has_more: Type.Boolean({ description: 'Whether there is a next page.' }),
        },
        { additionalProperties: false },
      ),
      CHECKS_FOUND,
      'The checks. `Link` with `rel="next"` is the address of the next page (RFC 8288).',
    ),
    ...errorResponses(['INVALID_REQUEST', 'INVALID_BANK_CODE']),
  },
};
