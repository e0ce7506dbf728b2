import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** How a client's receiver answers. */
export const MANNERS = ['accepts', 'fails', 'hangs', 'breaks off', 'is gone'] as const;
export type Manner = (typeof MANNERS)[number];

/** A callback as it came to a receiver. */
export interface Arrival {
  /** The path that it came to: one for each endpoint. */
  readonly path: string;
  readonly webhookId: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly at: number;
  /** What it was answered with, once the answer was written; the service may have been killed before it read it. */
  answered: number | null;
}

export interface Receiver {
  /** Address of the endpoint with this path. */
  url(path: string): string;
  readonly arrivals: readonly Arrival[];
  /** From now on; whatever hangs there is let go. Every path accepts until told otherwise. */
  turn(path: string, manner: Manner): void;
  /** Calls when the next callback has come to this path, before it is answered or after. */
  onNext(path: string, moment: 'before its answer' | 'after its answer', call: () => void): void;
  close(): Promise<void>;
}

const STATUSES = { accepts: 204, fails: 500, 'is gone': 410 } as const;

/** A client's own server on loopback, with as many paths as it is given endpoints. */
export async function startReceiver(): Promise<Receiver> {
  const arrivals: Arrival[] = [];
  const manners = new Map<string, Manner>();
  const hanging = new Map<string, Set<ServerResponse>>();
  const before = new Map<string, () => void>();
  const after = new Map<string, () => void>();

  function answer(arrival: Arrival, response: ServerResponse): void {
    const manner = manners.get(arrival.path) ?? 'accepts';
    if (manner === 'breaks off') response.destroy();
    else if (manner === 'hangs') {
      const own = hanging.get(arrival.path) ?? new Set();
      hanging.set(arrival.path, own.add(response));
    } else {
      response.writeHead(STATUSES[manner]).end(() => {
        arrival.answered = STATUSES[manner];
        take(after, arrival.path)?.();
      });
    }
  }

  const server = createServer((request, response) => {
    text(request).then(
      (body) => {
        const headers = Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        );
        const webhookId = headers['webhook-id'] ?? '';
        const path = request.url ?? '';
        const arrival: Arrival = { path, webhookId, headers, body, at: Date.now(), answered: null };
        arrivals.push(arrival);
        take(before, path)?.();
        answer(arrival, response);
      },
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    url: (path) => `http://127.0.0.1:${port}${path}`,
    arrivals,
    turn(path, manner) {
      manners.set(path, manner);
      for (const response of take(hanging, path) ?? []) response.destroy();
    },
    onNext: (path, moment, call) => void (moment === 'before its answer' ? before : after).set(path, call),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function take<Value>(map: Map<string, Value>, key: string): Value | undefined {
  const value = map.get(key);
  map.delete(key);
  return value;
}
