import type { FastifyRequest, onRequestHookHandler } from 'fastify';
import { UPLOAD_BYTES_MAX } from '../../account-validations/uploads/upload.ts';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { callerOf } from '../authorize.ts';
import { type ApiError, unavailable } from '../errors.ts';
import { isBodyEmpty } from '../request-body.ts';

/** Uploads of all clients that are in memory at the same time, from their announcement until they have been read. */
const TOTAL_BYTES_MAX = 4 * UPLOAD_BYTES_MAX;
/**
 * Uploads of one client at the same time: one of the largest, and smaller ones. An upload counts from its announcement,
 * so connections that send nothing count too. A client with such connections leaves more than two thirds to the others.
 */
const CLIENT_BYTES_MAX = UPLOAD_BYTES_MAX + 4 * 1024 * 1024;
/** Smaller uploads do not count: they are no longer than other requests may be. */
const UNCOUNTED_BYTES_MAX = 16 * 1024;
const RETRY_AFTER_MS = 5_000;

/** Limits the memory of uploads, from before they are received until they have been processed. */
export interface UploadAdmission {
  /** Rejects an upload that would exceed a limit, before its body is received. */
  readonly admit: onRequestHookHandler;
  /** The upload counts until `work` has ended, even when its client has disconnected before. */
  whileProcessing<T>(request: FastifyRequest, work: () => Promise<T>): Promise<T>;
}

interface CountedUpload {
  readonly clientId: string;
  bytes: number;
  isProcessing: boolean;
}

export const tooBusy = (): ApiError =>
  unavailable(
    {
      en: 'too many uploads are being processed. Repeat the request after Retry-After',
      id: 'terlalu banyak unggahan sedang diproses. Ulangi permintaan setelah Retry-After',
    },
    RETRY_AFTER_MS,
  );

const ONE_AFTER_THE_OTHER: BilingualText = {
  en: 'too many of your uploads are being received. Send one after the other',
  id: 'terlalu banyak unggahan Anda sedang diterima. Kirim satu per satu',
};

export function createUploadAdmission(): UploadAdmission {
  const uploads = new WeakMap<FastifyRequest['raw'], CountedUpload>();
  const bytesByClient = new Map<string, number>();
  let totalBytes = 0;

  const bytesOf = (clientId: string): number => bytesByClient.get(clientId) ?? 0;

  function count(clientId: string, bytes: number): void {
    totalBytes += bytes;
    const ofClient = bytesOf(clientId) + bytes;
    if (ofClient === 0) bytesByClient.delete(clientId);
    else bytesByClient.set(clientId, ofClient);
  }

  function release(upload: CountedUpload | undefined): void {
    if (upload === undefined) return;
    count(upload.clientId, -upload.bytes);
    upload.bytes = 0;
  }

  return {
    admit(request, reply, done) {
      const { raw, headers } = request;
      const { clientId } = callerOf(request).client;
      // An upload without a length may have any. One that is too long is rejected for that, elsewhere.
      const announced = isBodyEmpty(headers) ? 0 : Number(headers['content-length'] ?? UPLOAD_BYTES_MAX);
      const bytes = Math.min(announced, UPLOAD_BYTES_MAX);
      const isCounted = bytes > UNCOUNTED_BYTES_MAX;
      // A connection that is closed already emits no 'close' event, so its upload would count without end.
      if (reply.raw.destroyed || (isCounted && totalBytes + bytes > TOTAL_BYTES_MAX)) {
        done(tooBusy());
        return;
      }
      if (isCounted && bytesOf(clientId) + bytes > CLIENT_BYTES_MAX) {
        done(unavailable(ONE_AFTER_THE_OTHER, RETRY_AFTER_MS));
        return;
      }
      if (!isCounted) {
        done();
        return;
      }
      const upload = { clientId, bytes, isProcessing: false };
      count(clientId, bytes);
      uploads.set(raw, upload);
      reply.raw.once('close', () => {
        if (!upload.isProcessing) release(upload);
      });
      done();
    },
    async whileProcessing({ raw }, work) {
      const upload = uploads.get(raw);
      if (upload !== undefined) upload.isProcessing = true;
      try {
        return await work();
      } finally {
        release(upload);
      }
    },
  };
}
