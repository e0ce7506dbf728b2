import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Certificate } from './environment.ts';
import type { ReceiverMode } from './faults.ts';

/** The clients' receiver of callbacks. It verifies every signature and keeps which event reached which endpoint. */
export interface Receiver {
  readonly port: number;
  /** Under which path an endpoint was registered, and with which secret. */
  register(path: string, endpoint: { readonly clientId: string; readonly secret: string }): void;
  /** null answers 204 to every callback. Ending a fault cuts the connections that it left hanging. */
  setMode(mode: ReceiverMode | null): void;
  /** From now on, one of this many callbacks is answered this much later. */
  slowDown(oneOf: number, answerMs: number): void;
  /** The events that arrived at a path and were answered 204, by their IDs, and when, on `performance.now()`. */
  arrived(path: string): ReadonlyMap<string, number>;
  /** Callbacks that arrived again at a path after they were answered 204 there. */
  repeated(): readonly RepeatedCallback[];
  close(): Promise<void>;
}

export interface RepeatedCallback {
  readonly path: string;
  readonly eventId: string;
  /** Since it arrived for the first time. */
  readonly afterMs: number;
}

export interface ReceiverOptions {
  readonly certificate: Certificate;
  /** The owner of an event by its ID; null for an event that the campaign did not cause. */
  readonly ownerOf: (eventId: string) => string | null;
  readonly onCallback: () => void;
  readonly onWrong: (what: string, details: string) => void;
}

interface Endpoint {
  readonly clientId: string;
  readonly secret: string;
}

export async function startReceiver({ certificate, ...options }: ReceiverOptions): Promise<Receiver> {
  const endpoints = new Map<string, Endpoint>();
  const arrivals = new Map<string, Map<string, number>>();
  const hanging = new Set<ServerResponse>();
  const repeated: RepeatedCallback[] = [];
  let slow = { oneOf: Number.POSITIVE_INFINITY, answerMs: 0 };
  let count = 0;
  let mode: ReceiverMode | null = null;

  const server = createServer({ key: certificate.key, cert: certificate.cert }, (request, response) => {
    response.on('error', () => {});
    text(request).then(
      (body) => {
        const { url: path = '', headers } = request;
        const endpoint = endpoints.get(path);
        // Random requests register endpoints too: of those nothing is expected.
        if (endpoint === undefined) return void response.writeHead(204).end();
        options.onCallback();
        const id = String(headers['webhook-id']);
        verify(endpoint, path, id, headers, body, options);
        const arrived = arrivals.getOrInsertComputed(path, () => new Map());
        const [beforeMs, nowMs] = [arrived.get(id), performance.now()];
        if (beforeMs !== undefined) repeated.push({ path, eventId: id, afterMs: Math.round(nowMs - beforeMs) });
        else if (mode === null) arrived.set(id, nowMs);
        count += 1;
        if (mode === null && count % slow.oneOf === 0) setTimeout(() => answer(response), slow.answerMs);
        else answer(response);
      },
      () => response.destroy(),
    );
  });

  function answer(response: ServerResponse): void {
    switch (mode) {
      case null:
        return void response.writeHead(204).end();
      case 'hangs':
        return void hanging.add(response);
      case 'garbage':
        return void (response.socket as Socket).end('\0\0HTTP/9 maybe\n\n<<<>>>');
      case 'server errors':
        return void response.writeHead(500, { 'retry-after': '1' }).end('x'.repeat(100_000));
      case 'cut':
        return void response.destroy();
    }
  }

  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    register: (path, endpoint) => void endpoints.set(path, endpoint),
    setMode(next) {
      mode = next;
      for (const response of hanging) response.destroy();
      hanging.clear();
    },
    slowDown: (oneOf, answerMs) => void (slow = { oneOf, answerMs }),
    arrived: (path) => arrivals.get(path) ?? new Map(),
    repeated: () => repeated,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The signature is right, and the event is one of the client whose endpoint this is. */
function verify(
  { clientId, secret }: Endpoint,
  path: string,
  id: string,
  headers: NodeJS.Dict<string | string[]>,
  body: string,
  { ownerOf, onWrong }: Pick<ReceiverOptions, 'ownerOf' | 'onWrong'>,
): void {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const content = `${id}.${String(headers['webhook-timestamp'])}.${body}`;
  const signature = `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
  if (!String(headers['webhook-signature']).split(' ').includes(signature))
    onWrong('a callback has no right signature', `${path} ${id}`);
  const owner = ownerOf(id);
  if (owner !== null && owner !== clientId)
    onWrong("a client got another client's callback", `${id} of ${owner} at ${path}`);
}
