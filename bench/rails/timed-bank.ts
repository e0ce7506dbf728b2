import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createBankHttp } from '../../apps/server/src/rails/bank-http.ts';
import { inquiryFailureOf } from '../../apps/server/src/rails/bank-reply.ts';
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

/** From 40 to 90 ms, the later the rarer: what banks that are well show. */
export const ordinaryMs = (): number => 40 + 50 * Math.random() ** 3;

/** How a bank that is not well answers. */
export type Answer = (response: ServerResponse) => void;

/**
 * A bank over real HTTP that answers after `delayMs`, never for null; and a rail to it that speaks no protocol. As a switch
 * it answers for some banks, by BIC, otherwise.
 */
export async function startTimedBank(
  name: string,
  delayMs: () => number | null,
  otherwise: (bic: string) => Answer | null = () => null,
): Promise<TimedBank> {
  let asked = 0;
  const server = createServer((request, response) => {
    asked += 1;
    request.resume();
    const answer = otherwise(request.url?.slice(1) ?? '');
    if (answer !== null) return answer(response);
    const ms = delayMs();
    if (ms !== null) setTimeout(() => response.end('{}'), ms);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const http = createBankHttp(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const rail: Rail = {
    name,
    reaches: () => true,
    inquireAccount: ({ bank }, signal) =>
      http.post(`/${bank.bic}`, {}, '{}', signal).then(
        () => FOUND,
        (error: unknown) => ({ kind: 'no_verdict', ...inquiryFailureOf(error, signal) }),
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
