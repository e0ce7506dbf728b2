import { CallbackError, type VerifiedCallback, type VerifyOptions, verifyCallback } from './callbacks.ts';

export interface HandlerOptions extends VerifyOptions {
  /** The secret of the endpoint; both while it is rotated. A function reads them for each callback. */
  readonly secrets:
    | string
    | readonly string[]
    | (() => string | readonly string[] | Promise<string | readonly string[]>);
  /**
   * Called for each genuine callback. Store it and return: the service waits 15 s. When it fails, the answer is 500,
   * and the service sends the callback again.
   */
  readonly onCallback: (callback: VerifiedCallback) => void | Promise<void>;
  /**
   * Called with what `onCallback` threw, with why a body could not be read, or with what is wrong with the
   * configuration. A promise is awaited. What it throws itself is dropped: the answer stays 500.
   */
  readonly onError?: ((error: unknown) => unknown) | undefined;
}

/** Callbacks are small; what is larger is none. */
const BODY_BYTES_MAX = 256 * 1024;

type Body = string | Uint8Array<ArrayBuffer>;

interface Received {
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Null when it is too large. It fails when the sender closes the connection before the body has ended. */
  readonly readBody: () => Body | Promise<Body | null>;
}

/**
 * The HTTP status of the answer: 204 stored, 401 not genuine, 413 too large, 500 send it again. It never rejects:
 * Express 4 and node:http ignore the promise of a handler, so that a rejection would end the process.
 */
async function statusFor(options: HandlerOptions, { headers, readBody }: Received): Promise<number> {
  try {
    const body = await readBody();
    if (body === null) return 413;
    const { secrets } = options;
    const known = typeof secrets === 'function' ? await secrets() : secrets;
    await options.onCallback(await verifyCallback(headers, body, known, options));
    return 204;
  } catch (error) {
    if (error instanceof CallbackError) return 401;
    await report(options, error);
    return 500;
  }
}

async function report({ onError }: HandlerOptions, error: unknown): Promise<void> {
  try {
    await onError?.(error);
  } catch {
    // The status tells the sender to send it again; what is left to report to has failed.
  }
}

/** For servers in the style of fetch: Bun, Deno, Hono, Next.js, workers. */
export const fetchCallbackHandler =
  (options: HandlerOptions) =>
  async (request: Request): Promise<Response> => {
    if (request.method !== 'POST') return new Response(null, { status: 405, headers: { allow: 'POST' } });
    const { headers, body } = request;
    const readBody = () => (body === null ? new Uint8Array() : readBytes(chunksOf(body)));
    return new Response(null, { status: await statusFor(options, { headers, readBody }) });
  };

/** What Express, Connect and node:http pass to a handler, as far as it is used. */
export interface NodeRequest extends AsyncIterable<unknown> {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body?: unknown;
}
export interface NodeResponse {
  statusCode: number;
  end(): unknown;
}

/**
 * For Express, Connect and node:http: `app.post('/tiba', expressCallbackHandler({ … }))`, before any parser of
 * bodies, or behind `express.raw()`.
 */
export const expressCallbackHandler =
  (options: HandlerOptions) =>
  async (request: NodeRequest, response: NodeResponse): Promise<void> => {
    response.statusCode = await statusFor(options, { headers: request.headers, readBody: () => bodyOf(request) });
    response.end();
  };

/** @throws TypeError when a parser has already replaced the body */
function bodyOf(request: NodeRequest): Body | Promise<Body | null> {
  const { body: parsed } = request;
  if (typeof parsed === 'string') return parsed;
  if (parsed instanceof Uint8Array) return Uint8Array.from(parsed);
  if (parsed === undefined) return readBytes(request as AsyncIterable<Uint8Array>);
  throw new TypeError('a parser has changed the body: mount this handler before express.json()');
}

/** What this plugin uses of Fastify. */
export interface FastifyLike {
  removeAllContentTypeParsers(): void;
  addContentTypeParser(
    type: string,
    options: { parseAs: 'buffer'; bodyLimit: number },
    parser: (request: unknown, body: Uint8Array, done: (error: null, body: Uint8Array) => void) => void,
  ): unknown;
  post(
    path: string,
    handler: (
      request: { readonly headers: NodeRequest['headers']; readonly body: unknown },
      reply: { code(status: number): { send(): unknown } },
    ) => Promise<unknown>,
  ): unknown;
}

/** For Fastify: `app.register(fastifyCallbackHandler('/tiba', { … }))`. Other routes keep their parsers. */
export const fastifyCallbackHandler =
  (path: string, options: HandlerOptions) =>
  (app: FastifyLike): Promise<void> => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_BYTES_MAX }, (_request, body, done) =>
      done(null, body),
    );
    app.post(path, async ({ headers, body }, reply) => {
      const bytes = body instanceof Uint8Array ? Uint8Array.from(body) : new Uint8Array();
      return reply.code(await statusFor(options, { headers, readBody: () => bytes })).send();
    });
    return Promise.resolve();
  };

/** Not every runtime can iterate over a stream. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** A whole body; null when it is too large to be a callback. */
async function readBytes(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer> | null> {
  const read: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > BODY_BYTES_MAX) return null;
    read.push(chunk);
  }
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of read) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}
