import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createBankHttp } from '../../apps/server/src/rails/bank-http.ts';
import { noAnswerAfter } from '../../apps/server/src/rails/no-answer.ts';
import type { InquiryOutcome, Rail } from '../../apps/server/src/rails/rail.ts';

export interface TimedBank {
  readonly rail: Rail;
  /** How many inquiries have arrived. */
  asked(): number;
  close(): Promise<void>;
}

const FOUND: InquiryOutcome = {
  kind: 'verdict',
  verdict: { status: 'ACTIVE', accountName: 'BUDI SANTOSO' },
  railCode: '2001600',
};

/** A bank over real HTTP that answers after `delayMs`, never for null; and a rail to it that speaks no protocol. */
export async function startTimedBank(name: string, delayMs: () => number | null): Promise<TimedBank> {
  let asked = 0;
  const server = createServer((request, response) => {
    asked += 1;
    request.resume();
    const ms = delayMs();
    if (ms !== null) setTimeout(() => response.end('{}'), ms);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const http = createBankHttp(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const rail: Rail = {
    name,
    reaches: () => true,
    inquireAccount: (_inquiry, signal) =>
      http.post('/', {}, '{}', signal).then(
        () => FOUND,
        (error: unknown) => ({ kind: 'no_verdict', ...noAnswerAfter(error, signal) }),
      ),
    close: () => http.close(),
  };
  return {
    rail,
    asked: () => asked,
    async close() {
      await rail.close();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
