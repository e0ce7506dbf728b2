import type { FastifyReply } from 'fastify';
import { createIsoClock } from '../lib/iso-clock.ts';
import type { ErrorCode } from './errors.ts';

const now = createIsoClock();

/**
 * The success envelope (docs/contract.md 2.1) as text, for one message, which is escaped here and not with each answer.
 * `data` is already JSON.
 */
export function successEnvelope(message: string): (data: string) => string {
  const head = `{"success":true,"message":${JSON.stringify(message)},"data":`;
  return (data) => `${head}${data},"meta":{"timestamp":"${now()}"}}`;
}

/** The success envelope where speed does not matter. `data` is already JSON. */
export const success = (message: string, data: string): string => successEnvelope(message)(data);

/** The error envelope (docs/contract.md 2.1) as text. */
export const failure = (code: ErrorCode, message: string): string =>
  JSON.stringify({ success: false, message, error_code: code });

/** Headers of every JSON answer (docs/contract.md 2.1). */
export const ENVELOPE_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

export const sendEnvelope = (reply: FastifyReply, envelope: string): FastifyReply =>
  reply.headers(ENVELOPE_HEADERS).send(envelope);

/** `data` is already JSON. */
export const sendSuccess = (reply: FastifyReply, message: string, data: string): FastifyReply =>
  sendEnvelope(reply, success(message, data));
