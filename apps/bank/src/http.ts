import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** An HTTP response of the bank. */
export interface BankResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function jsonResponse(status: number, body: object): BankResponse {
  return { status, contentType: 'application/json', body: JSON.stringify(body) };
}

/** A POST request whose body has been read completely. */
export interface BankRequest {
  /** Path with query, exactly as in the request line: signatures cover this text. */
  readonly endpoint: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/**
 * The value of a header (name in lower case), or ''. Node joins the values of a repeated header; the result matches no
 * format.
 */
export function header(request: BankRequest, name: string): string {
  return String(request.headers[name] ?? '');
}

export type JsonObject = Readonly<Record<string, unknown>>;

const CONTENT_TYPE = /^application\/json(?:\s*;\s*charset="?utf-8"?)?$/i;

/** Whether a content type is JSON, in UTF-8 where it names a charset. */
export const isJson = (contentType: string): boolean => CONTENT_TYPE.test(contentType);

/** The members of a body that is a JSON object in UTF-8, or null. */
export function parseObject(body: Buffer): JsonObject | null {
  if (!isUtf8(body)) return null;
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export const BODY_BYTES_MAX = 16 * 1024;

/**
 * Collects a request's body and calls `done` once: with the body, or with null as soon as it is longer than `bytesMax`.
 * `done` is not called if the client disconnects before the end. A callback, not a promise: this runs for every
 * request.
 */
export function readBody(request: IncomingMessage, bytesMax: number, done: (body: Buffer | null) => void): void {
  const chunks: Buffer[] = [];
  let length = 0;

  function collect(chunk: Buffer): void {
    length += chunk.length;
    if (length > bytesMax) return finish(null);
    chunks.push(chunk);
  }

  function end(): void {
    const [first = Buffer.alloc(0)] = chunks;
    finish(chunks.length > 1 ? Buffer.concat(chunks, length) : first);
  }

  function finish(body: Buffer | null): void {
    request.off('data', collect).off('end', end);
    request.resume();
    done(body);
  }

  request.on('data', collect).on('end', end);
}
