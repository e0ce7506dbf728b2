import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { eventually } from '../support/eventually.ts';

/** A callback as it arrived. */
export interface Received {
  readonly id: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** `performance.now()` */
  readonly atMs: number;
}

export interface CallbackReceiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** How it answers from now on. */
  answer: (response: ServerResponse, received: Received) => void;
  /** Resolves with the first so many when they have arrived. */
  untilReceived(count: number): Promise<readonly Received[]>;
}

/** A client's receiver of callbacks on this machine, over real HTTP. It ends with the test. */
export async function startCallbackReceiver(
  context: TestContext,
  answer: CallbackReceiver['answer'] = (response) => response.end('thank you'),
): Promise<CallbackReceiver> {
  const received: Received[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const { headers } = request;
    text(request).then(
      (body) => {
        const each = { id: String(headers['webhook-id']), headers, body, atMs: performance.now() };
        received.push(each);
        receiver.answer(response, each);
      },
      // A request that was cut off was not received.
      () => undefined,
    );
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });

  const receiver: CallbackReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callbacks?key=KEPT-OUT-OF-LOGS`,
    received,
    answer,
    async untilReceived(count) {
      await eventually(`${count} callbacks, there are ${received.length}`, () => received.length >= count);
      return received.slice(0, count);
    },
  };
  return receiver;
}

/** Answers with this status. */
export const status =
  (code: number, headers: Record<string, string> = {}): CallbackReceiver['answer'] =>
  (response) =>
    response.writeHead(code, headers).end(`this is ${code}`);

/** Never answers. */
export const silence: CallbackReceiver['answer'] = () => undefined;

/** What was signed, as a receiver that follows the specification reads it. @throws when it is not to be believed. */
export const verified = (secret: string, { headers, body }: Received): Record<string, unknown> =>
  new Webhook(secret).verify(body, headers as Record<string, string>) as Record<string, unknown>;
