import assert from 'node:assert/strict';
import pino from 'pino';
import type { UploadFault, UploadMediaType } from '../../apps/server/src/account-validations/uploads/upload.ts';
import {
  createUploadReader,
  type UploadReader,
} from '../../apps/server/src/account-validations/uploads/upload-reader.ts';
import { watchEventLoop } from './event-loop.ts';

export const MIB = 1024 * 1024;
/** For the body, its copies, and garbage. */
const GROWTH_MAX = 128 * MIB;
/**
 * The time that other requests wait. A spawn alone takes 10 ms on a busy machine; reading a body would take seconds.
 */
export const BLOCK_MS_MAX = 100;

export const createTestReader = (): UploadReader => createUploadReader({ log: pino({ level: 'silent' }) });

/** Asserts that a hostile upload is rejected while this process is neither blocked nor grows. Returns the message. */
export async function assertRejectedSafely(
  reader: UploadReader,
  mediaType: UploadMediaType,
  body: Buffer | string,
  code: UploadFault['code'] = 'INVALID_FORMAT',
): Promise<string> {
  const bytes = Buffer.from(body);
  const before = process.memoryUsage().rss;
  const stopWatching = watchEventLoop();
  const result = await reader.read('alpha', mediaType, bytes);
  const longestMs = stopWatching();
  assert.ok(result.kind === 'fault', `it was not rejected: ${result.kind}`);
  assert.equal(result.code, code, result.message.en);
  assert.ok(longestMs < BLOCK_MS_MAX, `blocked for ${longestMs} ms`);
  assert.ok(process.memoryUsage().rss - before < GROWTH_MAX, 'this process grew');
  return result.message.en;
}
