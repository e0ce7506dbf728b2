import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { countedAddress } from '../lib/counted-address.ts';
import type { SlidingWindow } from '../rate-limit/sliding-window.ts';
import { tooManyRequests } from './errors.ts';
import { acceptsGzip, matchesEntityTag } from './request-headers.ts';

/**
 * A file that anyone may fetch, kept in memory in both codings: compressing it for each request would cost too much.
 */
export interface PublishedFile {
  readonly type: string;
  readonly cacheControl: string;
  readonly identity: Representation;
  readonly gzip: Representation;
}

interface Representation {
  readonly body: Buffer;
  /** A strong validator, so it differs between codings (RFC 9110, section 8.8.3.3). */
  readonly tag: string;
}

const compress = promisify(gzip);

/** `cacheControl`: by default the client keeps the file and asks each time whether it has changed. */
export async function createPublishedFile(
  type: string,
  body: Buffer,
  cacheControl = 'no-cache',
): Promise<PublishedFile> {
  const hash = createHash('sha256').update(body).digest('base64url');
  return {
    type,
    cacheControl,
    identity: { body, tag: `"${hash}"` },
    gzip: { body: await compress(body), tag: `"${hash}-gzip"` },
  };
}

/**
 * In any 60 seconds and from one address, by each process. A browser fetches three files, and then asks for changes.
 */
export const FILES_PER_MINUTE = 60;

export type SendFile = (request: FastifyRequest, reply: FastifyReply, file: PublishedFile) => FastifyReply;

/** Counts a request. @throws ApiError RATE_LIMIT_EXCEEDED, for each address by itself */
export type CountFile = (request: Pick<FastifyRequest, 'ip'>) => void;

export const createFileCounter =
  (window: Pick<SlidingWindow, 'take'>, perMinute = FILES_PER_MINUTE): CountFile =>
  ({ ip }) => {
    const { admitted, resetMs } = window.take(countedAddress(ip), perMinute);
    if (!admitted) throw tooManyRequests(resetMs);
  };

/** Counts the request, and sends the file. @throws ApiError RATE_LIMIT_EXCEEDED, for each address by itself */
export function createFileSender(window: Pick<SlidingWindow, 'take'>, perMinute = FILES_PER_MINUTE): SendFile {
  const count = createFileCounter(window, perMinute);
  return (request, reply, file) => {
    count(request);
    return sendFile(request, reply, file);
  };
}

/** Sends a file, or 304 when the client has it. */
export const sendFile: SendFile = (request, reply, { type, cacheControl, identity, gzip: gzipped }) => {
  const isCompressed = acceptsGzip(request.headers['accept-encoding']);
  const { body, tag } = isCompressed ? gzipped : identity;
  reply.headers({ etag: tag, vary: 'Accept-Encoding', 'cache-control': cacheControl });
  const ifNoneMatch = request.headers['if-none-match'];
  const isUnchanged = ifNoneMatch !== undefined && matchesEntityTag(ifNoneMatch, tag);
  if (isUnchanged && reply.statusCode === 200) return reply.code(304).send();
  if (isCompressed) reply.header('content-encoding', 'gzip');
  return reply.header('content-type', type).send(body);
};
