import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BenchContext } from './bench-context.ts';
import type { Comparison } from './compare.ts';
import { makeDatabase } from './database/databases.ts';
import { type Measurement, measureInRounds, type Target } from './measure.ts';
import type { Options } from './options.ts';
import { medians, pairedRatio, type Ratio } from './ratios.ts';
import { startService } from './services.ts';
import { checkStatusTarget } from './targets.ts';
import { verifyCheckStatus } from './verify.ts';

/** Equal processes differ by more than what is measured: V8 compiles and places the code of each one anew. */
const EQUAL_PROCESSES = 4;

/** Compares check-status without traces, with 1 % of the requests traced, and with all (docs/benchmarks.md). */
export async function compareTraces(context: BenchContext, options: Options): Promise<Comparison> {
  const collector = await startCollector(context);
  const database = await makeDatabase(context, 'bench_small', options.smallRows);
  const start = async (name: string, sampled: number | null): Promise<Target> => {
    const traces = sampled === null ? null : { url: collector, sampled };
    const service = await startService(context, { name, database, traces });
    await verifyCheckStatus(context, service, database);
    return checkStatusTarget(service, database, name);
  };
  const targets: Record<string, Target> = { all: await start(KINDS.all, 1) };
  const numbers = Array.from({ length: options.quick ? 1 : EQUAL_PROCESSES }, (_, index) => index + 1);
  for (const number of numbers) {
    targets[`off ${number}`] = await start(KINDS.off, null);
    targets[`some ${number}`] = await start(KINDS.some, 0.01);
  }
  const measured = await measureInRounds(context, targets, options);
  const all = measured['all'] ?? [];
  const off = numbers.map((number) => measured[`off ${number}`] ?? []);
  const some = numbers.map((number) => measured[`some ${number}`] ?? []);
  return {
    rows: [
      { title: `check-status, ${KINDS.off}`, figures: medians(off.flat()) },
      { title: `check-status, ${KINDS.some}`, figures: medians(some.flat()) },
      { title: `check-status, ${KINDS.all}`, figures: medians(all) },
    ],
    ratios: ratiosOf({ off, some, all }),
  };
}

const KINDS = { off: 'no traces', some: '1 % traced', all: 'all traced' };

interface Measured {
  /** The measurements of each process, by round. */
  readonly off: readonly (readonly Measurement[])[];
  readonly some: readonly (readonly Measurement[])[];
  readonly all: readonly Measurement[];
}

function ratiosOf({ off, some, all }: Measured): Ratio[] {
  const offMean = meanOfProcesses(off);
  const ofEach = off.map((process) => medians(process).cpuUsPerRequest);
  return [
    {
      title: '1 % traced / no traces: CPU per request',
      value: pairedRatio(meanOfProcesses(some), offMean, 'cpuUsPerRequest'),
      budget: { bound: 'at most', value: 1.03 },
    },
    {
      title: 'all traced / no traces: CPU per request',
      value: pairedRatio(all, offMean, 'cpuUsPerRequest'),
      budget: null,
    },
    {
      title: 'no traces: CPU per request, the most of equal processes / the least',
      value: Math.max(...ofEach) / Math.min(...ofEach),
      budget: null,
    },
  ];
}

/** By round. */
const meanOfProcesses = (processes: readonly (readonly Measurement[])[]): Pick<Measurement, 'cpuUsPerRequest'>[] =>
  (processes[0] ?? []).map((_, round) => {
    const sum = processes.reduce((total, process) => total + (process[round]?.cpuUsPerRequest ?? Number.NaN), 0);
    return { cpuUsPerRequest: sum / processes.length };
  });

/** Forgets the spans at once: it shares a core with PostgreSQL and the load. Resolves with its URL. */
async function startCollector({ closers }: BenchContext): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.end('{}'));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closers.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
