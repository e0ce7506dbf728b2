// Clients that wait for transactions with `Prefer: wait`, each on its own connection. Sockets without an HTTP client above
// them, because thousands of those would cost more than what is measured.

import { connect, type Socket } from 'node:net';
import { liveAsChild } from '../as-child.ts';
import { requireSteadyClock, wallMs } from '../end-to-end/clock.ts';
import { startControl } from '../end-to-end/control.ts';

export interface WaitingClientsSettings {
  /** Of the public listener. */
  readonly url: string;
  readonly token: string;
  /** For `Prefer: wait`. */
  readonly waitSeconds: number;
}

export interface WaitingClientsAddress {
  readonly controlUrl: string;
}

/** A transaction, and when the first byte of the answer that tells of its final status was there, in ms since 1970. */
export type Answer = readonly [transactionId: string, firstByteMs: number];

/** So that they do not come faster than a listener takes them off its queue (511 in Node). */
const CONNECTING_AT_ONCE = 100;

await liveAsChild<WaitingClientsAddress>(async (sent) => {
  const { url, token, waitSeconds } = sent as WaitingClientsSettings;
  const { hostname, port, host } = new URL(url);
  const sockets = new Set<Socket>();
  const faults: string[] = [];
  let answers: [string, number][] = [];

  /** Resolves when the question has been sent. */
  function wait(transactionId: string): Promise<void> {
    const question = [
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
      socket.once('connect', () => socket.write(question, () => resolve()));
      socket.on('error', reject);
      socket.once('close', () => sockets.delete(socket));
      socket.on('data', (text: string) => {
        if (received === '') firstByteMs = wallMs();
        received += text;
        // The last characters of the envelope.
        if (!received.endsWith('}}')) return;
        const answer = received;
        received = '';
        if (answer.includes('"status":"PROCESS"')) socket.write(question);
        else if (answer.startsWith('HTTP/1.1 200 ')) answers.push([transactionId, firstByteMs]);
        else faults.push(answer);
      });
    });
  }

  const control = await startControl({
    /** Resolves when all of them have asked. */
    async wait(given): Promise<void> {
      const left = (given as string[]).toReversed();
      const one = async (): Promise<void> => {
        for (let id = left.pop(); id !== undefined; id = left.pop()) await wait(id);
      };
      await Promise.all(Array.from({ length: CONNECTING_AT_ONCE }, one));
    },
    /** What has been answered since this was last asked. */
    answers(): Answer[] {
      requireSteadyClock();
      if (faults.length > 0) throw new Error(`${faults.length} were refused, the first with:\n${faults[0]}`);
      const taken = answers;
      answers = [];
      return taken;
    },
    leave: () => {
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
