import { type TSchema, Type } from 'typebox';
import type { BilingualText } from '../lib/bilingual-text.ts';
import { ERROR_CODES, type ErrorCode, httpStatusOf } from './errors.ts';

/**
 * Schemas that all operations of the public API share. They document and type; each operation validates by its own
 * rules.
 */

export const Timestamp = Type.String({
  format: 'date-time',
  description: 'ISO 8601, UTC, milliseconds.',
  examples: ['2026-11-21T04:32:26.123Z'],
});

/** `data` in the success envelope (docs/contract.md 2.1). */
export const successResponse = (data: TSchema, { en, id }: BilingualText, description: string) =>
  Type.Object(
    {
      success: Type.Literal(true),
      message: Type.String({ examples: [en, id] }),
      data,
      meta: Type.Object({ timestamp: Timestamp }),
    },
    { description },
  );

export const nullable = <T extends TSchema>(schema: T, description: string) =>
  Type.Union([schema, Type.Null()], { description });

const errorEnvelope = (codes: readonly ErrorCode[]) =>
  Type.Object({
    success: Type.Literal(false),
    message: Type.String({ description: 'What is wrong and what to do next, for people.' }),
    error_code: Type.Enum([...codes]),
  });

/** All errors, including those that belong to no operation: a route or a method that does not exist. */
export const AnyError = errorEnvelope(ERROR_CODES);

const STATUS_DESCRIPTIONS: Partial<Record<number, string>> = {
  400: 'The request is wrong: correct it before sending it again.',
  401: 'Invalid or expired token.',
  403: "The token lacks the operation's scope.",
  404: 'Not found.',
  406: '`Accept` excludes `application/json`.',
  409: "The request conflicts with the resource's current state.",
  408: 'The request did not arrive in time.',
  413: 'The request body is too large.',
  415: 'The request body is not `application/json`.',
  422: 'The request is well-formed and cannot be carried out: `error_code` says why.',
  429: 'Too many requests: wait for `Retry-After` seconds.',
  431: 'The request headers are too large.',
  500: 'A fault of the service: quote `X-Request-Id` when you report it.',
  503: 'The service cannot answer now: repeat after `Retry-After` seconds.',
};

const COMMON_ERRORS: ReadonlySet<ErrorCode> = new Set([
  'UNAUTHORIZED',
  'FORBIDDEN',
  'RATE_LIMIT_EXCEEDED',
  'NOT_ACCEPTABLE',
  'REQUEST_TIMEOUT',
  'HEADERS_TOO_LARGE',
  'SERVICE_UNAVAILABLE',
  'INTERNAL_ERROR',
]);

/** The error responses of an operation by HTTP status: its own codes, and those of every operation. */
export function errorResponses(own: readonly ErrorCode[]): Record<number, TSchema> {
  const responses: Record<number, TSchema> = {};
  const codes = ERROR_CODES.filter((code) => own.includes(code) || COMMON_ERRORS.has(code));
  for (const status of new Set(codes.map(httpStatusOf))) {
    const description = STATUS_DESCRIPTIONS[status] ?? '';
    responses[status] = Type.Object(errorEnvelope(codes.filter((code) => httpStatusOf(code) === status)).properties, {
      description,
    });
  }
  return responses;
}
