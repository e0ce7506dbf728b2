// Clients that long-poll transactions with `Prefer: wait`, each on its own connection. They use plain sockets:
// thousands of HTTP clients would cost more than the service that is measured.

import { connect, type Socket } from 'node:net';
import { runAsChild } from '../as-child.ts';
import { startControlServer } from '../end-to-end/control.ts';
import { requireSteadyClock, wallMs } from '../end-to-end/timing.ts';

export interface LongPollClientsSettings {
  /** Of the public listener. */
  readonly url: string;
  readonly token: string;
  /** For `Prefer: wait`. */
  readonly waitSeconds: number;
}

export interface LongPollClientsAddress {
  readonly controlUrl: string;
}

/** A transaction, and when the first byte of the response with its final status arrived, in ms since 1970. */
export type FinalResponse = readonly [transactionId: string, firstByteMs: number];

/** Connections that are opened in parallel: fewer than the queue of a listener holds (511 in Node). */
const CONNECTING_MAX = 100;

await runAsChild<LongPollClientsAddress>(async (sent) => {
  const { url, token, waitSeconds } = sent as LongPollClientsSettings;
  const { hostname, port, host } = new URL(url);
  const sockets = new Set<Socket>();
  const failures: string[] = [];
  let responses: [string, number][] = [];

  /** Resolves when the request has been sent. */
  function startLongPoll(transactionId: string): Promise<void> {
    const request = [
      `GET /api/v1/check-status/${transactionId} HTTP/1.1`,
      `Host: ${host}`,
      `Authorization: Bearer ${token}`,
      `Prefer: wait=${waitSeconds}`,
      '\r\n',
    ].join('\r\n');
    return new Promise((resolve, reject) => {
      let received = '';
      let firstByteMs = 0;
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      sockets.add(socket);
      socket.setEncoding('latin1');
      socket.once('connect', () => socket.write(request, () => resolve()));
      socket.on('error', reject);
      socket.once('close', () => sockets.delete(socket));
      socket.on('data', (text: string) => {
        if (received === '') firstByteMs = wallMs();
        received += text;
        // The last characters of the envelope.
        if (!received.endsWith('}}')) return;
        const response = received;
        received = '';
        if (response.includes('"status":"PROCESS"')) socket.write(request);
        else if (response.startsWith('HTTP/1.1 200 ')) responses.push([transactionId, firstByteMs]);
        else failures.push(response);
      });
    });
  }

  const control = await startControlServer({
    /** Resolves when all requests have been sent. */
    async start(transactionIds): Promise<void> {
      const pending = (transactionIds as string[]).toReversed();
      const startSequentially = async (): Promise<void> => {
        for (let id = pending.pop(); id !== undefined; id = pending.pop()) await startLongPoll(id);
      };
      await Promise.all(Array.from({ length: CONNECTING_MAX }, startSequentially));
    },
    /** The final responses since the last call. */
    takeResponses(): FinalResponse[] {
      requireSteadyClock();
      if (failures.length > 0) throw new Error(`${failures.length} requests failed, the first with:\n${failures[0]}`);
      const taken = responses;
      responses = [];
      return taken;
    },
    disconnect: () => {
      for (const socket of sockets) socket.destroy();
    },
  });
  return {
    address: { controlUrl: control.url },
    async close() {
      control.close();
      for (const socket of sockets) socket.destroy();
    },
  };
});
