import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';

/** The bank's own reply. */
export interface OriginalReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends something else than the bank's reply. It may never end. */
export type Fault = (reply: OriginalReply, response: ServerResponse) => void;

/** A proxy between a rail and its bank. It forwards everything, and replaces replies on demand. */
export interface FaultyBankProxy {
  readonly baseUrl: string;
  /** Replaces the replies to the requests that `isFaulty` selects; null forwards them. */
  fault: Fault | null;
}

export async function startFaultyBankProxy(
  context: TestContext,
  bankUrl: string,
  isFaulty: (path: string) => boolean,
): Promise<FaultyBankProxy> {
  const server = createServer((request, response) => {
    const { method = 'POST', url: path = '/' } = request;
    buffer(request)
      .then(async (body) => {
        const headers = Object.entries(request.headers).filter(([name]) => !HOP_BY_HOP.has(name));
        const reply = await fetch(`${bankUrl}${path}`, {
          method,
          headers: headers.map(([name, value]) => [name, String(value)] as [string, string]),
          body: new Uint8Array(body),
          redirect: 'manual',
        });
        const original = {
          status: reply.status,
          headers: Object.fromEntries(reply.headers),
          body: await bytesOf(reply),
        };
        if (proxy.fault !== null && isFaulty(path)) proxy.fault(original, response);
        else response.writeHead(original.status, { 'content-type': contentTypeOf(original) }).end(original.body);
      })
      .catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const proxy: FaultyBankProxy = { baseUrl: `http://127.0.0.1:${address.port}`, fault: null };
  return proxy;
}

const HOP_BY_HOP = new Set([
  'connection',
  'host',
  'content-length',
  'transfer-encoding',
  'keep-alive',
  'te',
  'upgrade',
]);

const bytesOf = async (reply: Response): Promise<Buffer> => Buffer.from(await reply.arrayBuffer());

const contentTypeOf = ({ headers }: OriginalReply): string => headers['content-type'] ?? 'application/octet-stream';

/** The bank's reply with a rewritten body. */
export const rewritten =
  (rewrite: (text: string) => string): Fault =>
  (reply, response) => {
    const original = reply.body.toString();
    const body = rewrite(original);
    if (body === original) throw new Error(`the rewriting changes nothing in ${original}`);
    response.writeHead(reply.status, { 'content-type': contentTypeOf(reply) }).end(body);
  };
