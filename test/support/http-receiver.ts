import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { eventually } from './eventually.ts';

/** A request whose body arrived completely. */
export interface ReceivedRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Arrival, in milliseconds since 1970. */
  readonly atMs: number;
  /** The HTTP status of the response; null until the response is written. */
  answered: number | null;
}

/** Answers a request. A function that never ends the response leaves the sender waiting. */
export type Respond = (response: ServerResponse, request: ReceivedRequest) => void;

export interface HttpReceiver extends Listener {
  /** Scheme, host and port, without a path. */
  readonly url: string;
  /** In the order of their arrival. */
  readonly requests: readonly ReceivedRequest[];
  /** Answers requests from now on. */
  respond: Respond;
  /** Resolves with the first `count` requests when they have arrived. */
  untilReceived(count: number): Promise<readonly ReceivedRequest[]>;
}

export interface HttpReceiverOptions {
  /** Answers 200 unless given. */
  readonly respond?: Respond;
  /** Serves HTTPS; PEM. */
  readonly certificate?: { readonly key: string; readonly cert: string };
  /** Closes the receiver when this test ends. */
  readonly context?: TestContext;
}

/** Starts an HTTP server on 127.0.0.1 that records every request and answers as the test says. */
export async function startHttpReceiver(options: HttpReceiverOptions = {}): Promise<HttpReceiver> {
  const { certificate, context } = options;
  const requests: ReceivedRequest[] = [];
  const server = certificate === undefined ? createHttpServer() : createHttpsServer({ ...certificate });
  server.on('request', (incoming, response) => {
    text(incoming).then(
      (body) => {
        const { method = '', url: path = '', headers } = incoming;
        const request: ReceivedRequest = { method, path, headers, body, atMs: Date.now(), answered: null };
        response.once('finish', () => (request.answered = response.statusCode));
        requests.push(request);
        receiver.respond(response, request);
      },
      // The sender closed the connection before the end of its request.
      () => response.destroy(),
    );
  });
  const listener = await listenOnLoopback(server);
  const receiver: HttpReceiver = {
    ...listener,
    url: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${listener.port}`,
    requests,
    respond: options.respond ?? respondWith(200, 'thank you'),
    async untilReceived(count) {
      await eventually(`${count} requests arrive`, () => requests.length >= count);
      return requests.slice(0, count);
    },
  };
  context?.after(receiver.close);
  return receiver;
}

/** Answers every request with this status. */
export const respondWith =
  (status: number, body = '', headers: Record<string, string> = {}): Respond =>
  (response) =>
    response.writeHead(status, headers).end(body);

/** Leaves every request without a response. */
export const neverRespond: Respond = () => undefined;

/** A server that listens on the loopback interface. */
export interface Listener {
  readonly port: number;
  /** Every connection that the server ever accepted. */
  readonly connections: readonly Socket[];
  /** Closes the server and its connections. Safe to call twice. */
  readonly close: () => Promise<void>;
}

export async function listenOnLoopback(server: Server, host = '127.0.0.1', port = 0): Promise<Listener> {
  const connections: Socket[] = [];
  server.on('connection', (socket: Socket) => {
    // Tests cut connections on purpose; without a listener the error would end the test process.
    socket.on('error', () => undefined);
    connections.push(socket);
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    connections,
    async close() {
      for (const socket of connections) socket.destroy();
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}
