import { setTimeout as delay } from 'node:timers/promises';
import { LIMITED_PER_MINUTE } from './clients.ts';
import { bearer, type RoundContext } from './round-context.ts';
import type { ServiceProcess } from './service.ts';

const PAUSE_MS = 25;

/**
 * Sends more requests than a client may, one after the other, to one process. A round is shorter than the minute of the
 * limit, so each start of the process admits exactly the limit. (Each process counts for itself: docs/operating.md.)
 */
export async function probeLimit({ caller, tokens, record, loadEnds }: RoundContext, process: ServiceProcess) {
  let start = 0;
  let admitted = 0;
  let unknown = 0;
  while (!loadEnds.aborted) {
    const startBefore = process.starts();
    if (startBefore !== start) [start, admitted, unknown] = [startBefore, 0, 0];
    const answer = await caller.call({
      target: '/api/v1/check-status/NONE',
      headers: bearer(tokens.limited),
      process,
    });
    if (process.starts() !== startBefore) continue;
    if (answer === null || answer.status === 503) unknown += 1;
    else if (answer.status === 404) admitted += 1;
    const details = `${process.name}: ${admitted} admitted, ${unknown} without an answer, limit ${LIMITED_PER_MINUTE}`;
    if (admitted > LIMITED_PER_MINUTE) record.wrong('a limit admits too many requests', details);
    if (answer?.status === 429 && admitted + unknown < LIMITED_PER_MINUTE)
      record.wrong('a limit refuses too early', details);
    if (answer?.status === 429) record.count('requests over a limit');
    await delay(PAUSE_MS);
  }
}
