import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import type { Certificate } from './certificates.ts';

/** A request as it arrived. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Receiver {
  readonly port: number;
  readonly requests: readonly ReceivedRequest[];
  /** Every connection that was ever made to it. */
  readonly connections: readonly Socket[];
}

export type Answer = (response: ServerResponse, request: ReceivedRequest) => void;

/** Receives callbacks on 127.0.0.1 over HTTP, or HTTPS when it has a certificate; ends with the test. */
export async function startReceiver(
  context: TestContext,
  answer: Answer = (response) => response.end('thank you'),
  certificate?: Certificate,
): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = incoming;
    const request = { method, path, headers, body: await text(incoming) };
    requests.push(request);
    answer(response, request);
  }
  const listener = (incoming: IncomingMessage, response: ServerResponse): void => {
    // A request that was cut off is not the receiver's concern.
    handle(incoming, response).catch(() => undefined);
  };
  const server =
    certificate === undefined ? createHttpServer(listener) : createHttpsServer({ ...certificate }, listener);
  return { requests, ...(await listen(context, server)) };
}

/** Speaks whatever it is told to, byte by byte. */
export const startRawReceiver = (
  context: TestContext,
  speak: (socket: Socket) => void = () => undefined,
): Promise<Omit<Receiver, 'requests'>> => listen(context, createTcpServer(speak));

async function listen(
  context: TestContext,
  server: Server,
  host = '127.0.0.1',
  port = 0,
): Promise<Omit<Receiver, 'requests'>> {
  const connections: Socket[] = [];
  server.on('connection', (socket) => {
    socket.on('error', () => undefined);
    connections.push(socket);
  });
  context.after(async () => {
    for (const socket of connections) socket.destroy();
    server.close();
    if (server.listening) await once(server, 'close');
  });
  server.listen(port, host);
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, connections };
}

/** Listens on 127.0.0.1 and, where the machine has it, on ::1, at the same port: nobody should ever come. */
export async function startTrap(context: TestContext): Promise<{ port: number; visits(): Promise<number> }> {
  const four = await listen(context, createTcpServer());
  const six = await listen(context, createTcpServer(), '::1', four.port).catch(() => null);

  /** Connections are accepted in order: once our own has arrived, so have all that were made before it. */
  async function visitsTo(host: string, { connections, port }: Omit<Receiver, 'requests'>): Promise<number> {
    const probe = connect({ host, port });
    await once(probe, 'connect');
    const arrived = (): boolean => connections.some(({ remotePort }) => remotePort === probe.localPort);
    while (!arrived()) await new Promise(setImmediate);
    probe.destroy();
    return connections.length - 1;
  }
  let probes = 0;
  return {
    port: four.port,
    async visits() {
      const visits = (await visitsTo('127.0.0.1', four)) + (six === null ? 0 : await visitsTo('::1', six));
      probes += 1;
      return visits - (probes - 1) * (six === null ? 1 : 2);
    },
  };
}
