import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createBankHttp } from '../../apps/server/src/rails/bank-http.ts';
import { inquiryFailureOf } from '../../apps/server/src/rails/bank-reply.ts';
import type { InquiryOutcome, Rail } from '../../apps/server/src/rails/rail.ts';

export interface TimedBank {
  readonly rail: Rail;
  /** How many inquiries have arrived. */
  inquiryCount(): number;
  close(): Promise<void>;
}

const FOUND: InquiryOutcome = {
  kind: 'verdict',
  verdict: { status: 'ACTIVE', accountName: 'BUDI SANTOSO' },
  railCode: '2001600',
};

/** From 40 to 90 ms, longer delays are rarer: what healthy banks show. */
export const healthyDelayMs = (): number => 40 + 50 * Math.random() ** 3;

/** The response of a faulty bank. */
export type Respond = (response: ServerResponse) => void;

/**
 * Starts a bank over real HTTP that answers after `delayMs`, or never when it is null, and a rail to it without a bank
 * protocol. As a switch, it answers for each bank, by BIC, with the response of `faultFor` unless that is null.
 */
export async function startTimedBank(
  name: string,
  delayMs: () => number | null,
  faultFor: (bic: string) => Respond | null = () => null,
): Promise<TimedBank> {
  let inquiryCount = 0;
  const server = createServer((request, response) => {
    inquiryCount += 1;
    request.resume();
    const fault = faultFor(request.url?.slice(1) ?? '');
    if (fault !== null) return fault(response);
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
    inquiryCount: () => inquiryCount,
    async close() {
      await rail.close();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
