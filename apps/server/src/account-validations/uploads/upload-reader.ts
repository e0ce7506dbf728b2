import type { Log } from '../../observability/log.ts';
import { readInChildProcess } from './read-in-child-process.ts';
import { readJson } from './read-json.ts';
import { createReaderSlots } from './reader-slots.ts';
import { resultOf } from './rows.ts';
import type { UploadMediaType, UploadResult } from './upload.ts';

/** Too many are being read, or the service is stopping: the upload may be sent again later. */
interface Busy {
  readonly kind: 'busy';
}

export interface UploadReader {
  /**
   * Resolves whatever the body is, and does not look at its size: more than `UPLOAD_BYTES_MAX` is to be refused before it is
   * in memory. A client has one place at most, and those who wait are served in turn, however much each has sent.
   */
  read(clientId: string, mediaType: UploadMediaType, body: Buffer): Promise<UploadResult | Busy>;
  /** What is being read, or waits, becomes 'busy'. Resolves when no process is left. */
  close(): Promise<void>;
}

export interface UploadReaderOptions {
  readonly log: Log;
  readonly timeoutMs?: number;
  /** Each takes a processor core and up to 250 MB. */
  readonly concurrencyMax?: number;
  /** Each holds its body in memory. A client has a quarter of them. */
  readonly waitingMax?: number;
}

const BUSY: Busy = { kind: 'busy' };
/** JSON that is no longer than any other request's is read like any other: a process would cost a hundred times as much. */
const SMALL_JSON_BYTES = 16 * 1024;

/** Reads uploads, a few at a time. */
export function createUploadReader({
  log,
  timeoutMs = 20_000,
  concurrencyMax = 2,
  waitingMax = 64,
}: UploadReaderOptions): UploadReader {
  const closing = new AbortController();
  const underWay = new Set<Promise<UploadResult>>();
  const places = createReaderSlots(concurrencyMax, waitingMax);

  return {
    async read(clientId, mediaType, body) {
      if (mediaType === 'application/json' && body.length <= SMALL_JSON_BYTES)
        return resultOf((rows) => readJson(body, rows));
      const place = closing.signal.aborted ? null : places.acquire(clientId);
      if (place === null) return BUSY;
      await place;
      const reading = readInChildProcess(mediaType, body, { timeoutMs, signal: closing.signal, log });
      underWay.add(reading);
      try {
        return await reading;
      } catch (error) {
        if (!closing.signal.aborted) log.error({ err: error }, 'no process can be started to read an upload');
        return BUSY;
      } finally {
        underWay.delete(reading);
        places.release(clientId);
      }
    },
    async close() {
      closing.abort();
      // Those that wait come in one after the other, each to hear that it is too late.
      while (underWay.size > 0) await Promise.allSettled(underWay);
    },
  };
}
