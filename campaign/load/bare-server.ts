import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type Child, startChild } from '../../bench/child.ts';
import type { BaselineServerAddress } from '../../bench/processes/baseline-server.ts';
import type { PartOptions } from '../part.ts';
import { floodWhile } from './flood.ts';
import { quantileMs, startProber } from './prober.ts';
import { residentMib, watchMemory } from './watch.ts';

/** It has no bound of its own, and would take all memory of the machine. */
const HEAP = ['--max-old-space-size=512'];
const WARM_UP_MS = 1_000;
const RESPONSE = {
  status: 200,
  headers: ['content-type', 'application/json; charset=utf-8', 'content-length', '700'],
  body: ' '.repeat(700),
  keepAliveTimeoutMs: 75_000,
};

export interface BareServerFigures {
  readonly isAlive: boolean;
  readonly p99Ms: number;
  readonly growthMib: number;
}

/** What the same flood does to node:http alone, which answers each request at once with the same bytes. */
export async function measureBareServer(
  request: string,
  { connections, isRead }: { readonly connections: number; readonly isRead: boolean },
  options: PartOptions,
): Promise<BareServerFigures> {
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-campaign-'));
  const server = await startChild<BaselineServerAddress>({
    file: 'baseline-server.ts',
    settings: RESPONSE,
    cores: null,
    nodeOptions: HEAP,
    directory,
  });
  const { url } = server.address;
  const prober = startProber({ url, path: () => '/', headers: {}, intervalMs: 10 });
  try {
    await wait(WARM_UP_MS, null, { signal: options.signal });
    const before = (await residentMib(server.pid)) ?? 0;
    const startMs = performance.now();
    const [peak] = await floodWhile({ port: Number(new URL(url).port), connections, isRead, request }, () =>
      watchMemory(server.pid, { ...options, name: 'bare server' }),
    );
    return {
      isAlive: (await residentMib(server.pid)) !== null,
      p99Ms: quantileMs(prober.since(startMs), 0.99),
      growthMib: peak - before,
    };
  } finally {
    await stop(server);
    await prober.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

/** It would first answer all that it has read, unless the flood has ended it. */
async function stop(server: Child<BaselineServerAddress>): Promise<void> {
  if ((await residentMib(server.pid)) !== null) process.kill(server.pid, 'SIGKILL');
  await server.stop().catch(() => {});
}
