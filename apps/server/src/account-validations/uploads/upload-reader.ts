import type { Log } from '../../observability/log.ts';
import { readInChildProcess } from './read-in-child-process.ts';
import { readJson } from './read-json.ts';
import { createReaderSlots } from './reader-slots.ts';
import { resultOf } from './rows.ts';
import type { UploadMediaType, UploadResult } from './upload.ts';

/** The queue is full, or the service is stopping: the client may send the upload again later. */
interface Busy {
  readonly kind: 'busy';
}

export interface UploadReader {
  /**
   * Resolves for every body. It does not check the size: reject bodies over `UPLOAD_BYTES_MAX` before they are in
   * memory. One upload of a client is read at a time, and the clients in the queue take turns, however much each has
   * sent.
   */
  read(clientId: string, mediaType: UploadMediaType, body: Buffer): Promise<UploadResult | Busy>;
  /** Uploads that are being read or are in the queue resolve as 'busy'. Resolves when no child process is left. */
  close(): Promise<void>;
}

export interface UploadReaderOptions {
  readonly log: Log;
  readonly timeoutMs?: number;
  /** Each child process takes a processor core and up to 250 MB. */
  readonly concurrencyMax?: number;
  /** Each upload in the queue holds its body in memory. One client may have a quarter of the queue. */
  readonly queueMax?: number;
}

const BUSY: Busy = { kind: 'busy' };
/** JSON no longer than other requests' is read in this process: a child process would cost a hundred times as much. */
const SMALL_JSON_BYTES = 16 * 1024;

/** Reads uploads, a few at a time. */
export function createUploadReader({
  log,
  timeoutMs = 20_000,
  concurrencyMax = 2,
  queueMax = 64,
}: UploadReaderOptions): UploadReader {
  const closing = new AbortController();
  const inProgress = new Set<Promise<UploadResult>>();
  const slots = createReaderSlots(concurrencyMax, queueMax);

  return {
    async read(clientId, mediaType, body) {
      if (mediaType === 'application/json' && body.length <= SMALL_JSON_BYTES)
        return resultOf((rows) => readJson(body, rows));
      const slot = closing.signal.aborted ? null : slots.acquire(clientId);
      if (slot === null) return BUSY;
      await slot;
      const reading = readInChildProcess(mediaType, body, { timeoutMs, signal: closing.signal, log });
      inProgress.add(reading);
      try {
        return await reading;
      } catch (error) {
        if (!closing.signal.aborted) log.error({ err: error }, 'starting the upload reader process failed');
        return BUSY;
      } finally {
        inProgress.delete(reading);
        slots.release(clientId);
      }
    },
    async close() {
      closing.abort();
      // Uploads in the queue get a slot one after the other, and end as 'busy' at once.
      while (inProgress.size > 0) await Promise.allSettled(inProgress);
    },
  };
}
