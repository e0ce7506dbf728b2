import { setTimeout as delay } from 'node:timers/promises';
import { LIMITED_PER_MINUTE } from './clients.ts';
import { bearer, type RoundContext } from './round-context.ts';
import type { ServiceProcess } from './service.ts';

const PAUSE_MS = 25;

/** What one start of a process, or all processes together, have answered to the limited client. */
interface Answered {
  admitted: number;
  /** Without an answer, or 503: counted by the service or not. */
  unknown: number;
}

/**
 * Sends more requests than a client may, one after the other, to one process. A round is shorter than the minute of the
 * limit. Without Valkey each start of a process admits exactly the limit. With it all starts together do, until one may
 * have decided alone (docs/contract.md 8.3).
 */
export async function probeLimit(context: RoundContext, process: ServiceProcess, together: Answered): Promise<void> {
  const { caller, tokens, record, loadEnds } = context;
  let start = 0;
  let own: Answered = { admitted: 0, unknown: 0 };
  while (!loadEnds.aborted) {
    const startBefore = process.starts();
    if (startBefore !== start) {
      start = startBefore;
      own = { admitted: 0, unknown: 0 };
    }
    const request = { target: '/api/v1/check-status/NONE', headers: bearer(tokens.limited), process };
    const answer = await caller.call(request);
    const status = answer?.status ?? null;
    for (const counts of [own, together]) {
      if (status === null || status === 503) counts.unknown += 1;
      else if (status === 404) counts.admitted += 1;
    }
    if (process.starts() === startBefore) {
      const limits = context.limits();
      if (status === 429) record.count('requests over a limit');
      if (limits === 'shared') await judgeShared(context, process, status, together);
      if (limits === 'shared' || limits === 'after an outage') judgeStart(context, process, own);
      else if (limits === 'per process') judgeOwn(context, process, status, own);
    }
    await delay(PAUSE_MS);
  }
}

export function judgeOwn(
  { record }: Pick<RoundContext, 'record'>,
  { name }: Pick<ServiceProcess, 'name'>,
  status: number | null,
  { admitted, unknown }: Answered,
): void {
  const details = `${name}: ${admitted} admitted, ${unknown} without an answer, limit ${LIMITED_PER_MINUTE}`;
  if (admitted > LIMITED_PER_MINUTE) record.wrong('a limit admits too many requests', details);
  if (status === 429 && admitted + unknown < LIMITED_PER_MINUTE) record.wrong('a limit refuses too early', details);
}

/** A start that decides alone has a share of the limit, so one start never admits more than the limit. */
export function judgeStart(
  { record }: Pick<RoundContext, 'record'>,
  { name }: Pick<ServiceProcess, 'name'>,
  { admitted }: Answered,
): void {
  if (admitted > LIMITED_PER_MINUTE) record.wrong('a shared limit admits more than a share', `${name}: ${admitted}`);
}

async function judgeShared(
  context: RoundContext,
  process: ServiceProcess,
  status: number | null,
  { admitted }: Answered,
): Promise<void> {
  if (status !== 404 || admitted <= LIMITED_PER_MINUTE) return;
  const start = process.starts();
  const alone = await decisionsAlone(process);
  // The log of an outage may have been read meanwhile.
  if (alone !== 0 || process.starts() !== start || !process.isUp() || context.limits() !== 'shared') return;
  context.record.wrong('a shared limit admits too many requests', `${process.name}: ${admitted} by all`);
}

/** How often the process has decided without Valkey; null when it does not answer. */
async function decisionsAlone({ operatorUrl }: ServiceProcess): Promise<number | null> {
  try {
    const metrics = await (await fetch(`${operatorUrl}/metrics`)).text();
    return [...metrics.matchAll(/^tiba_limit_decisions_alone_total(?:\{[^}]*\})? (\d+)/gm)].reduce(
      (sum, [, value]) => sum + Number(value),
      0,
    );
  } catch {
    return null;
  }
}
