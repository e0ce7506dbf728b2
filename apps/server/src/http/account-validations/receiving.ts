import type { FastifyRequest, onRequestHookHandler } from 'fastify';
import { UPLOAD_BYTES_MAX } from '../../account-validations/uploads/upload.ts';
import { type ApiError, unavailable } from '../errors.ts';

/** What all clients together send at a time: it is held in memory until it has been read. */
const RECEIVED_BYTES_MAX = 4 * UPLOAD_BYTES_MAX;
const RETRY_AFTER_SECONDS = 5;

/** Bounds the memory that uploads take, from before they are received until nobody holds them any more. */
export interface Receiving {
  /** Lets so much in at a time. */
  readonly admit: onRequestHookHandler;
  /** Until `work` has ended the upload counts, also when its sender has hung up meanwhile. */
  during<T>(request: FastifyRequest, work: () => Promise<T>): Promise<T>;
}

interface Held {
  bytes: number;
  isInWork: boolean;
}

export const tooBusy = (): ApiError =>
  unavailable('Too many rows are being taken in now: send them again', RETRY_AFTER_SECONDS);

export function createReceiving(): Receiving {
  const held = new WeakMap<FastifyRequest['raw'], Held>();
  let receivedBytes = 0;

  function letGo(upload: Held | undefined): void {
    if (upload === undefined) return;
    receivedBytes -= upload.bytes;
    upload.bytes = 0;
  }

  return {
    admit({ raw, headers }, reply, done) {
      // Without a length it may be as long as any; one that is too long is refused as such.
      const bytes = Math.min(Number(headers['content-length'] ?? UPLOAD_BYTES_MAX), UPLOAD_BYTES_MAX);
      // Of a connection that is closed already, nobody would hear.
      if (reply.raw.destroyed || receivedBytes + bytes > RECEIVED_BYTES_MAX) {
        done(tooBusy());
        return;
      }
      const upload = { bytes, isInWork: false };
      receivedBytes += bytes;
      held.set(raw, upload);
      reply.raw.once('close', () => {
        if (!upload.isInWork) letGo(upload);
      });
      done();
    },
    async during({ raw }, work) {
      const upload = held.get(raw);
      if (upload !== undefined) upload.isInWork = true;
      try {
        return await work();
      } finally {
        letGo(upload);
      }
    },
  };
}
