// What a partner listens with for the bank's notifications: a real HTTP listener that remembers and judges them.

import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { BankSettings } from '../../apps/bank/src/settings.ts';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly atMs: number;
}

/** The HTTP status to answer with, or null to leave the bank waiting. */
export type Reaction = (received: Received) => number | null;

export async function startReceiver(react: Reaction = () => 200) {
  const received: Received[] = [];
  const changed = new EventTarget();
  const server = createServer((request, response) => {
    // A bank that is closed in the middle of sending leaves an unfinished body.
    text(request).then(
      (body) => answer(request, response, body),
      () => response.destroy(),
    );
  });

  function answer({ method = '', url = '', headers }: IncomingMessage, response: ServerResponse, body: string): void {
    const one: Received = { method, path: url, headers, body, fields: JSON.parse(body), atMs: Date.now() };
    received.push(one);
    changed.dispatchEvent(new Event('change'));
    const status = react(one);
    if (status !== null) response.writeHead(status, { Location: '/elsewhere' }).end('{"responseCode":"2007600"}');
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The receiver listens on no port.');

  return {
    url: new URL(`http://127.0.0.1:${address.port}/notify/transfers?from=bank`),
    received,
    /** `latestTransactionStatus` of all notifications of a transfer so far, in the order in which they came. */
    statusesOf: (partnerReferenceNo: string) => statusesOf(received, partnerReferenceNo),
    /** Waits until this many notifications have come in all. */
    async waitForCount(count: number, deadlineMs = 15_000): Promise<void> {
      const signal = AbortSignal.timeout(deadlineMs);
      while (received.length < count) {
        await once(changed, 'change', { signal }).catch(() => {
          throw new Error(`${received.length} notifications came in ${deadlineMs} ms, not ${count}.`);
        });
      }
    },
    async close(): Promise<void> {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Whether a notification is signed as the documentation says: symmetric, with an empty access token. */
export function isSigned({ method, path, headers, body }: Received, { clientSecret }: BankSettings): boolean {
  const bodyHash = createHash('sha256').update(body).digest('hex');
  const signed = [method, path, '', bodyHash, headers['x-timestamp']].join(':');
  return createHmac('sha512', clientSecret).update(signed).digest('base64') === headers['x-signature'];
}

function statusesOf(received: readonly Received[], partnerReferenceNo: string): unknown[] {
  return received
    .filter(({ fields }) => fields['originalPartnerReferenceNo'] === partnerReferenceNo)
    .map(({ fields }) => fields['latestTransactionStatus']);
}
