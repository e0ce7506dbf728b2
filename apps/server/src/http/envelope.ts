import type { FastifyReply, FastifyRequest } from 'fastify';
import { type BilingualText, englishOnly, type Language } from '../lib/bilingual-text.ts';
import { createIsoClock } from '../lib/iso-clock.ts';
import type { ApiError, ErrorCode } from './errors.ts';
import { languageOf } from './language.ts';

const now = createIsoClock();

/**
 * The success envelope (docs/contract.md 2.1) as text, for one message, which is escaped here and not with each answer.
 * `data` is already JSON.
 */
export function successEnvelope({ en, id }: BilingualText): (language: Language, data: string) => string {
  const head = (message: string) => `{"success":true,"message":${JSON.stringify(message)},"data":`;
  const heads: Readonly<Record<Language, string>> = { en: head(en), id: head(id) };
  return (language, data) => `${heads[language]}${data},"meta":{"timestamp":"${now()}"}}`;
}

/** The success envelope where speed does not matter. `data` is already JSON. */
export const success = (language: Language, message: BilingualText, data: string): string =>
  successEnvelope(message)(language, data);

/** The error envelope (docs/contract.md 2.1) as text. */
const failure = (code: ErrorCode, message: string): string =>
  JSON.stringify({ success: false, message, error_code: code });

/** docs/contract.md 2.1. */
const HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

/** Headers of every answer that has a language (docs/contract.md 2.6). */
export const LANGUAGE_HEADERS = {
  en: { 'content-language': 'en', vary: 'Accept-Language' },
  id: { 'content-language': 'id', vary: 'Accept-Language' },
} as const satisfies Record<Language, Readonly<Record<string, string>>>;

/** Headers of every answer in the envelope. */
export const ENVELOPE_HEADERS = {
  en: { ...HEADERS, ...LANGUAGE_HEADERS.en },
  id: { ...HEADERS, ...LANGUAGE_HEADERS.id },
} as const satisfies Record<Language, Readonly<Record<string, string>>>;

/** Headers of the operator's listener, which answers in English only. */
const OPERATOR_HEADERS = { ...HEADERS, 'content-language': 'en' } as const;

export const sendEnvelope = (reply: FastifyReply, language: Language, envelope: string): FastifyReply =>
  reply.headers(ENVELOPE_HEADERS[language]).send(envelope);

/** In the language that the client prefers. `data` is already JSON. */
export function sendSuccess(reply: FastifyReply, message: BilingualText, data: string): FastifyReply {
  const language = languageOf(reply.request);
  return sendEnvelope(reply, language, success(language, message, data));
}

/** For the operator's listener. `data` is already JSON. */
export const sendOperatorSuccess = (reply: FastifyReply, message: string, data: string): FastifyReply =>
  reply.headers(OPERATOR_HEADERS).send(success('en', englishOnly(message), data));

/** An error as it is sent. */
export interface ErrorAnswer {
  readonly statusCode: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** For the access log. */
  readonly logFields?: Readonly<Record<string, unknown>>;
}

/** The request that an error answers, as far as it was read. */
export type AnsweredRequest = Pick<FastifyRequest, 'headers'> & Partial<Pick<FastifyRequest, 'route'>>;

/** How a listener writes its errors. `request` is null where none could be read. */
export type ErrorForm = (error: ApiError, request: AnsweredRequest | null) => ErrorAnswer;

/** In the envelope, and in the language that the client prefers. */
export const publicErrorForm: ErrorForm = (error, request) => {
  // Without a request that was read this far, the language that its client prefers is unknown.
  const language = request === null ? 'en' : languageOf(request);
  return {
    statusCode: error.statusCode,
    headers: { ...ENVELOPE_HEADERS[language], ...error.headers },
    body: failure(error.code, error.text[language]),
  };
};

/** In the envelope, and in English. */
export const operatorErrorForm: ErrorForm = ({ statusCode, code, text, headers }) => ({
  statusCode,
  headers: { ...OPERATOR_HEADERS, ...headers },
  body: failure(code, text.en),
});
