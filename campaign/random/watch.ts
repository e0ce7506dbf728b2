import { setTimeout as delay } from 'node:timers/promises';
import { judgeAnswer } from './judge-answer.ts';
import { bearer, type RoundContext } from './round-context.ts';
import type { ServiceProcess } from './service.ts';

const PAUSE_MS = 500;
const KIB_PER_MB = 1_000_000 / 1_024;
/** MB. A process that holds what it received, or its log, without a bound soon exceeds it. */
const MEMORY_MAX = 600;
/** Also a machine that is busy with other work answers within that time. */
const LIVEZ_MS_MAX = 15_000;

/** Watches a process during the load: alive, of bounded memory, and without a canary in its metrics. */
export async function watchProcess(context: RoundContext, process: ServiceProcess): Promise<void> {
  const { record, canaries, loadEnds, tokens } = context;
  while (!loadEnds.aborted) {
    await delay(PAUSE_MS);
    if (!process.isUp()) continue;
    const start = process.starts();
    const mb = ((await process.residentMemory()) ?? 0) / KIB_PER_MB;
    record.most('largest process, MB', Math.round(mb));
    if (mb > MEMORY_MAX)
      record.wrong('the memory of a process is not bounded', `${process.name}: ${Math.round(mb)} MB`);
    const startedMs = performance.now();
    const answer = await get(`${process.operatorUrl}/livez`, {});
    const tookMs = performance.now() - startedMs;
    record.most('slowest /livez, ms', Math.round(tookMs));
    // A fault may have ended it meanwhile.
    const isSame = process.isUp() && process.starts() === start;
    if (isSame && (answer?.status !== 200 || tookMs > LIVEZ_MS_MAX))
      record.wrong('/livez does not say that the process lives', `${process.name}: ${answer?.status}, ${tookMs} ms`);
    const metrics = await get(`${process.operatorUrl}/metrics`, {});
    for (const line of metrics?.text.split('\n') ?? [])
      if (canaries.find(line) !== null) record.wrong('a metric holds a number, name or secret', line);
    const list = await get(`${process.operatorUrl}/operator/v1/overdue`, bearer(tokens.operator));
    if (list !== null) judgeAnswer({ ...list, headers: list.headers }, '/operator/v1/overdue', null, context);
  }
}

async function get(url: string, headers: Readonly<Record<string, string>>) {
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(2 * LIVEZ_MS_MAX) });
    return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
  } catch {
    return null;
  }
}
