import { type TSchema, Type } from 'typebox';
import type { Scope } from '../auth/scopes.ts';
import type { BilingualText } from '../lib/bilingual-text.ts';
import { ApiError, ERROR_CODES, type ErrorCode, httpStatusOf } from './errors.ts';
import { schemaReference } from './openapi/components.ts';
import { exampleOf, type JsonSchema } from './openapi/json-schema.ts';
import type { ResponseHeader } from './openapi/response-headers.ts';

/**
 * Schemas that the operations share. They document and type; each operation validates by its own rules.
 *
 * A schema with a `title` becomes a component of the OpenAPI document, and a type of that name in an SDK. Every field
 * that is a string has an example; examples of objects, bodies and responses are put together from those.
 */

/** The security requirement of an operation: an access token with this scope. */
export const accessToken = (scope: Scope) => [{ accessToken: [scope] }];

export const Timestamp = Type.String({
  title: 'Timestamp',
  format: 'date-time',
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$',
  description: 'ISO 8601, UTC, milliseconds.',
  examples: ['2026-11-21T04:32:26.123Z'],
});

const Meta = Type.Object({ timestamp: Timestamp }, { title: 'Meta', additionalProperties: false });

interface ResponseOptions {
  /** Headers beyond those of every response. */
  readonly headers?: readonly ResponseHeader[];
  /** Media types other than JSON in which the operation can answer, each with an example of a body. */
  readonly alternatives?: Readonly<Record<string, string>>;
  /** `data` of this operation, where the example of its schema is that of another one. */
  readonly example?: unknown;
}

/** `data` in the success envelope (docs/contract.md 2.1). `data` has a title; the envelope is named after it. */
export const successResponse = (
  data: TSchema & { title?: string },
  message: BilingualText,
  description: string,
  { headers = [], alternatives = {}, example = exampleOf(data) }: ResponseOptions = {},
) =>
  Type.Object(
    {
      success: Type.Literal(true),
      message: Type.String({ description: 'For people. It may be reworded; programs read the other fields.' }),
      data,
      meta: Meta,
    },
    {
      title: `${data.title}Response`,
      description,
      additionalProperties: false,
      'x-examples': successExamples(example, message),
      'x-headers': headers,
      'x-alternatives': alternatives,
    },
  );

/** The envelope in both languages. */
function successExamples(example: unknown, { en, id }: BilingualText): Record<string, unknown> {
  if (example === undefined) return {};
  const meta = { timestamp: '2026-11-21T04:32:31.402Z' };
  const inLanguage = (message: string) => ({ value: { success: true, message, data: example, meta } });
  return en === id ? { en: inLanguage(en) } : { en: inLanguage(en), id: inLanguage(id) };
}

export const nullable = <T extends TSchema>(schema: T, description: string) =>
  Type.Union([schema, Type.Null()], { description });

interface Kind extends TSchema {
  readonly title?: string;
  readonly properties: Readonly<Record<string, TSchema>>;
}

/** An object of one of several kinds, which the value of one field tells apart. Each kind has a title. */
export const oneOfKinds = (
  field: string,
  kinds: readonly Kind[],
  options: { readonly title?: string; readonly description?: string } = {},
) =>
  Type.Unsafe({
    ...options,
    oneOf: kinds,
    discriminator: {
      propertyName: field,
      mapping: Object.fromEntries(
        kinds.flatMap((kind) => {
          const { const: only, enum: values = [only] } = kind.properties[field] as JsonSchema;
          return values.map((value) => [String(value), schemaReference(kind.title ?? '')]);
        }),
      ),
    },
  });

/** `TRANSACTION_NOT_FOUND` as `TransactionNotFound`. */
const inPascalCase = (code: ErrorCode): string =>
  code.replaceAll(/([A-Z])([A-Z]*)_?/g, (_, first: string, rest: string) => first + rest.toLowerCase());

/** The error envelope with one code (docs/contract.md 2.1). */
export const errorEnvelope = (code: ErrorCode) =>
  Type.Object(
    {
      success: Type.Literal(false),
      message: Type.String({
        description: 'What is wrong and what to do next, for people.',
        examples: [new ApiError(code).message],
      }),
      error_code: Type.Literal(code),
    },
    { title: `${inPascalCase(code).replace(/Error$/, '')}Error`, additionalProperties: false },
  );

/** Of operations for the people who run the service: clients never get them. */
const OPERATOR_CODES: ReadonlySet<ErrorCode> = new Set(['PROPOSAL_CONFLICT', 'CLIENT_CONFLICT']);
const GENERAL_CODES = ERROR_CODES.filter((code) => !OPERATOR_CODES.has(code));

/** All errors, including those that belong to no operation: a route or a method that does not exist. */
export const AnyError = oneOfKinds('error_code', GENERAL_CODES.map(errorEnvelope), {
  title: 'ErrorResponse',
  description: 'The error envelope. `error_code` says what went wrong; new codes may be added.',
});

const STATUS_DESCRIPTIONS: Partial<Record<number, string>> = {
  400: 'The request is wrong: correct it before sending it again.',
  401: 'Invalid or expired token.',
  403: "The token lacks the operation's scope.",
  404: 'Not found.',
  406: '`Accept` excludes the media types of the response.',
  409: "The request conflicts with the resource's current state.",
  408: 'The request did not arrive in time.',
  410: 'The cursor is from a time that was lost when a backup was restored: `message` says how to go on.',
  413: 'The request body is too large.',
  415: 'The media type of the request body is not one that the operation reads.',
  422: 'The request is well-formed and cannot be carried out: `error_code` says why.',
  429: 'Too many requests: wait for `Retry-After` seconds, and longer after each further refusal.',
  431: 'The request headers are too large.',
  500: 'A fault of the service: quote `X-Request-Id` when you report it.',
  503: 'Temporarily unavailable: repeat the request after `Retry-After` seconds.',
};

/** Errors of operations that need no access token. They read memory only: nothing there fails with INTERNAL_ERROR. */
export const UNAUTHENTICATED_ERRORS = [
  // Malformed HTTP, and headers that are given twice.
  'INVALID_FORMAT',
  'REQUEST_TIMEOUT',
  'HEADERS_TOO_LARGE',
  'SERVICE_UNAVAILABLE',
] as const satisfies readonly ErrorCode[];

/** Errors of operations that need an access token and read memory only. */
export const MEMORY_ERRORS = [
  ...UNAUTHENTICATED_ERRORS,
  'UNAUTHORIZED',
  'FORBIDDEN',
  'RATE_LIMIT_EXCEEDED',
  'NOT_ACCEPTABLE',
] as const satisfies readonly ErrorCode[];

const COMMON_ERRORS = [...MEMORY_ERRORS, 'INTERNAL_ERROR'] as const satisfies readonly ErrorCode[];

const examplesOf = (codes: readonly ErrorCode[]) =>
  Object.fromEntries(codes.map((code) => [code, { value: exampleOf(errorEnvelope(code)) }]));

/**
 * The error responses of an operation by HTTP status: its own codes, and those of every operation. Each becomes a
 * response component that is named for its codes.
 */
export function errorResponses(
  own: readonly ErrorCode[],
  common: readonly ErrorCode[] = COMMON_ERRORS,
): Record<number, TSchema> {
  const responses: Record<number, TSchema> = {};
  const codes = ERROR_CODES.filter((code) => own.includes(code) || common.includes(code));
  for (const status of new Set(codes.map(httpStatusOf))) {
    const ofStatus = codes.filter((code) => httpStatusOf(code) === status);
    const [first, ...others] = ofStatus.map(errorEnvelope);
    if (first === undefined) continue;
    responses[status] = {
      ...(others.length === 0 ? first : oneOfKinds('error_code', [first, ...others])),
      description: STATUS_DESCRIPTIONS[status] ?? '',
      'x-component': ofStatus.map(inPascalCase).join('Or'),
      ...(others.length === 0 ? {} : { 'x-examples': examplesOf(ofStatus) }),
    };
  }
  return responses;
}
