import type { Decision, Limiter } from '../../apps/server/src/rate-limit/limiter.ts';
import { atValkey } from '../../apps/server/src/valkey/connection.ts';
import { createSharedLimiter } from '../../apps/server/src/valkey/shared-limiter.ts';
import { openSharedWindows, type SharedWindows } from '../../apps/server/src/valkey/shared-windows.ts';
import { eventually } from '../support/eventually.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import type { TestValkey } from '../support/valkey.ts';

/** What one process of the service has. */
export interface TestProcess {
  readonly limiter: Limiter;
  readonly windows: SharedWindows;
  readonly decidedAlone: () => number;
}

export interface Cleanup {
  after(action: () => unknown): void;
}

/** A machine that is busy with tests stops every process now and then. Tests of the 50 ms have their own. */
export const TIMEOUT_MS = timeLimitMs(1_000);

export interface OpenProcessesOptions {
  readonly cluster?: boolean;
  readonly timeoutMs?: number;
  readonly onPresent?: () => void;
}

/** What several processes of the service have, each with a connection of its own. */
export async function openProcesses(
  t: Cleanup,
  { url }: Pick<TestValkey, 'url'>,
  count: number,
  { cluster = false, timeoutMs = TIMEOUT_MS, onPresent = () => {} }: OpenProcessesOptions = {},
): Promise<TestProcess[]> {
  const processes = Array.from({ length: count }, (): TestProcess => {
    let alone = 0;
    const windows = openSharedWindows({
      ...atValkey({ url, cluster }),
      timeoutMs,
      onChange: (away) => away === null && onPresent(),
    });
    t.after(windows.close);
    const limiter = createSharedLimiter({
      windows,
      name: 'test',
      liveProcesses: () => count,
      onDecidedAlone: () => void (alone += 1),
      clock: () => performance.now(),
    });
    return { limiter, windows, decidedAlone: () => alone };
  });
  await eventually('valkey is present', () => processes.every(({ windows }) => windows.isPresent()));
  return processes;
}

/** At the same time, against a limit of 120. */
export const takeAll = ({ limiter }: TestProcess, count: number): Promise<Decision[]> =>
  Promise.all(Array.from({ length: count }, async () => limiter.take('client', 120)));

export const admitted = (decisions: readonly (Decision | undefined)[]): number =>
  decisions.filter((each) => each?.admitted === true).length;
