import assert from 'node:assert/strict';
import pino from 'pino';
import type { UploadFault, UploadMediaType } from '../../apps/server/src/account-validations/uploads/upload.ts';
import {
  createUploadReader,
  type UploadReader,
} from '../../apps/server/src/account-validations/uploads/upload-reader.ts';
import { watchEventLoop } from './event-loop.ts';

export const MIB = 1024 * 1024;
/** The body itself, its copies on the way, and garbage. */
const GROWTH_MAX = 128 * MIB;
/** Time that every other request waits. A spawn alone takes ten where the machine is busy; reading a body would take seconds. */
export const BLOCK_MS_MAX = 100;

export const createTestReader = (): UploadReader => createUploadReader({ log: pino({ level: 'silent' }) });

/** The upload of somebody who means harm is refused, here with its message, while this process goes on undisturbed and does not grow. */
export async function assertHarmless(
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
  assert.ok(result.kind === 'fault', `it was not refused: ${result.kind}`);
  assert.equal(result.code, code, result.message);
  assert.ok(longestMs < BLOCK_MS_MAX, `blocked for ${longestMs} ms`);
  assert.ok(process.memoryUsage().rss - before < GROWTH_MAX, 'this process grew');
  return result.message;
}
