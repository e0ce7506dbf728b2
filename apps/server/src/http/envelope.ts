import type { FastifyReply } from 'fastify';
import { createIsoClock } from '../lib/iso-clock.ts';
import type { ErrorCode } from './errors.ts';

const now = createIsoClock();

/** The success envelope (docs/contract.md 2.1) as text. `data` is already JSON. */
export const success = (message: string, data: string): string =>
  `{"success":true,"message":"${message}","data":${data},"meta":{"timestamp":"${now()}"}}`;

/** The error envelope (docs/contract.md 2.1) as text. */
export const failure = (code: ErrorCode, message: string): string =>
  JSON.stringify({ success: false, message, error_code: code });

/** Headers of every JSON answer (docs/contract.md 2.1). */
export const ENVELOPE_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

/** `data` is already JSON. */
export const sendSuccess = (reply: FastifyReply, message: string, data: string): FastifyReply =>
  reply.headers(ENVELOPE_HEADERS).send(success(message, data));
