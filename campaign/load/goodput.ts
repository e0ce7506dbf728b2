import { cpuSeconds } from '../../bench/process-stats.ts';
import { rawRequest } from '../../test/contract/raw-connection.ts';
import type { Offer, OfferReport, OfferSettings } from './offer.ts';
import type { LoadedService } from './setting.ts';

/** How many useful answers a second the service gives, and its CPU time for each, which other load does not change. */
export interface Goodput {
  readonly perSecond: number;
  readonly cpuUs: number;
}

export async function measureGoodput(
  { child: { pid = 0 } }: LoadedService,
  offer: Offer,
  work: () => Promise<unknown>,
): Promise<Goodput> {
  const cpuBefore = await cpuSeconds(pid);
  const before = await offer.report();
  const startMs = performance.now();
  await work();
  const good = (await offer.report()).good - before.good;
  const cpuUs = (((await cpuSeconds(pid)) - cpuBefore) * 1e6) / good;
  return { perSecond: (good / (performance.now() - startMs)) * 1_000, cpuUs };
}

/** A client's status checks, which no rate limit rejects. */
export function statusChecks({ url, tokens, statusPath }: LoadedService): Pick<OfferSettings, 'port' | 'requests'> {
  const headers = { authorization: `Bearer ${tokens.unlimited}` };
  const requests = Array.from({ length: 1_000 }, (_, index) =>
    rawRequest('GET', statusPath(index), { headers }).toString('latin1'),
  );
  return { port: Number(new URL(url).port), requests };
}

/** Answers that are neither 200 nor 503, such as `3 with 500`. */
export const otherAnswers = ({ otherStatuses }: OfferReport): string =>
  Object.entries(otherStatuses)
    .map(([status, count]) => `${count} with ${status}`)
    .join(', ');
