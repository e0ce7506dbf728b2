import type { FastifyRequest, onRequestHookHandler } from 'fastify';
import { UPLOAD_BYTES_MAX } from '../../account-validations/uploads/upload.ts';
import { callerOf } from '../authorize.ts';
import { type ApiError, unavailable } from '../errors.ts';
import { isBodyEmpty } from '../request-body.ts';

/** What all clients together send at a time: it is held in memory until it has been read. */
const RECEIVED_BYTES_MAX = 4 * UPLOAD_BYTES_MAX;
/**
 * What one client sends at a time: one of the largest and smaller ones beside it. It counts from when it is announced, so
 * connections that stay silent hold it too; a client that does so leaves more than two thirds to the others.
 */
const OF_A_CLIENT_MAX = UPLOAD_BYTES_MAX + 4 * 1024 * 1024;
/** As long as any other request may be, and counted as little. */
const UNCOUNTED_BYTES_MAX = 16 * 1024;
const RETRY_AFTER_MS = 5_000;

/** Bounds the memory that uploads take, from before they are received until nobody holds them any more. */
export interface UploadAdmission {
  /** Lets so much in at a time. */
  readonly admit: onRequestHookHandler;
  /** Until `work` has ended the upload counts, also when its sender has hung up meanwhile. */
  whileProcessing<T>(request: FastifyRequest, work: () => Promise<T>): Promise<T>;
}

interface Held {
  readonly clientId: string;
  bytes: number;
  isInWork: boolean;
}

export const tooBusy = (): ApiError =>
  unavailable('Too many rows are being taken in now: send them again', RETRY_AFTER_MS);

export function createUploadAdmission(): UploadAdmission {
  const held = new WeakMap<FastifyRequest['raw'], Held>();
  const ofClients = new Map<string, number>();
  let receivedBytes = 0;

  const ofClient = (clientId: string): number => ofClients.get(clientId) ?? 0;

  function count(clientId: string, bytes: number): void {
    receivedBytes += bytes;
    const counted = ofClient(clientId) + bytes;
    if (counted === 0) ofClients.delete(clientId);
    else ofClients.set(clientId, counted);
  }

  function letGo(upload: Held | undefined): void {
    if (upload === undefined) return;
    count(upload.clientId, -upload.bytes);
    upload.bytes = 0;
  }

  return {
    admit(request, reply, done) {
      const { raw, headers } = request;
      const { clientId } = callerOf(request).client;
      // Without a length it may be as long as any; one that is too long is refused as such.
      const announced = isBodyEmpty(headers) ? 0 : Number(headers['content-length'] ?? UPLOAD_BYTES_MAX);
      const bytes = Math.min(announced, UPLOAD_BYTES_MAX);
      const isCounted = bytes > UNCOUNTED_BYTES_MAX;
      // Of a connection that is closed already, nobody would hear.
      if (reply.raw.destroyed || (isCounted && receivedBytes + bytes > RECEIVED_BYTES_MAX)) {
        done(tooBusy());
        return;
      }
      if (isCounted && ofClient(clientId) + bytes > OF_A_CLIENT_MAX) {
        done(unavailable('Too much of yours is being taken in now: send one after the other', RETRY_AFTER_MS));
        return;
      }
      if (!isCounted) {
        done();
        return;
      }
      const upload = { clientId, bytes, isInWork: false };
      count(clientId, bytes);
      held.set(raw, upload);
      reply.raw.once('close', () => {
        if (!upload.isInWork) letGo(upload);
      });
      done();
    },
    async whileProcessing({ raw }, work) {
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
