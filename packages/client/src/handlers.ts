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
  /** Called with what `onCallback` threw, or with what is wrong with the configuration. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** Callbacks are small; what is larger is none. */
const BODY_BYTES_MAX = 256 * 1024;

interface Received {
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
}

/** The HTTP status of the answer: 204 stored, 401 not genuine, 500 send it again. */
async function statusFor(options: HandlerOptions, { headers, body }: Received): Promise<number> {
  try {
    const { secrets } = options;
    const known = typeof secrets === 'function' ? await secrets() : secrets;
    await options.onCallback(await verifyCallback(headers, body, known, options));
    return 204;
  } catch (error) {
    if (error instanceof CallbackError) return 401;
    options.onError?.(error);
    return 500;
  }
}

/** For servers in the style of fetch: Bun, Deno, Hono, Next.js, workers. */
export const fetchCallbackHandler =
  (options: HandlerOptions) =>
  async (request: Request): Promise<Response> => {
    if (request.method !== 'POST') return new Response(null, { status: 405, headers: { allow: 'POST' } });
    const body = request.body === null ? new Uint8Array() : await readBytes(chunksOf(request.body));
    const status = body === null ? 413 : await statusFor(options, { headers: request.headers, body });
    return new Response(null, { status });
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
    response.statusCode = await statusOfNode(options, request);
    response.end();
  };

async function statusOfNode(options: HandlerOptions, request: NodeRequest): Promise<number> {
  const { headers, body: parsed } = request;
  if (parsed instanceof Uint8Array || typeof parsed === 'string') {
    return statusFor(options, { headers, body: typeof parsed === 'string' ? parsed : Uint8Array.from(parsed) });
  }
  if (parsed !== undefined) {
    options.onError?.(new TypeError('a parser has changed the body: mount this handler before express.json()'));
    return 500;
  }
  const body = await readBytes(request as AsyncIterable<Uint8Array>);
  return body === null ? 413 : statusFor(options, { headers, body });
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
      return reply.code(await statusFor(options, { headers, body: bytes })).send();
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
