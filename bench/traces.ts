import { createServer } from 'node:http';
import { listenOnLoopback } from './as-child.ts';
import type { BenchContext } from './bench-context.ts';
import type { Comparison } from './compare.ts';
import { makeDatabase } from './database/databases.ts';
import { type Measurement, measureInRounds, type Target } from './measure.ts';
import type { Options } from './options.ts';
import { medians, pairedRatio, type Ratio } from './ratios.ts';
import { startService } from './services.ts';
import { checkStatusTarget } from './targets.ts';
import { verifyCheckStatus } from './verify.ts';

/**
 * V8 compiles and places the code of each process anew, so that equal processes differ by more than what is measured.
 * So what is compared runs in one process, and not all in the same one.
 */
const PROCESSES = 3;

/** Compares check-status without traces, with 1 % of the requests traced, and with all (docs/benchmarks.md). */
export async function compareTraces(context: BenchContext, options: Options): Promise<Comparison> {
  const url = await startCollector(context);
  const database = await makeDatabase(context, 'bench_small', options.smallRows);
  const targets: Record<string, Target> = {};
  const numbers = Array.from({ length: options.quick ? 1 : PROCESSES }, (_, index) => index + 1);
  for (const number of numbers) {
    const name = `process ${number}`;
    const traces = [null, { url, sampled: 0.01 }, { url, sampled: 1 }] as const;
    const service = await startService(context, { name, database, traces });
    for (const [index, kind] of KINDS.entries()) {
      const address = { ...service.address, ...service.address.others[index - 1] };
      await verifyCheckStatus(context, { ...service, address }, database);
      targets[keyOf(kind, number)] = checkStatusTarget({ ...service, address }, database, kind);
    }
  }
  const measured = await measureInRounds(context, targets, options);
  const roundsOf = (kind: Kind): Measurement[] => numbers.flatMap((number) => measured[keyOf(kind, number)] ?? []);
  return {
    rows: KINDS.map((kind) => ({ title: `check-status, ${kind}`, figures: medians(roundsOf(kind)) })),
    ratios: ratiosOf(roundsOf),
  };
}

const KINDS = ['no traces', '1 % traced', 'all traced'] as const;
type Kind = (typeof KINDS)[number];

const keyOf = (kind: Kind, number: number): string => `${kind}, process ${number}`;

/** `roundsOf`: each round of each process. */
const ratiosOf = (roundsOf: (kind: Kind) => readonly Measurement[]): Ratio[] => [
  {
    title: '1 % traced / no traces: CPU per request',
    value: pairedRatio(roundsOf('1 % traced'), roundsOf('no traces'), 'cpuUsPerRequest'),
    budget: { bound: 'at most', value: 1.03 },
  },
  {
    title: 'all traced / no traces: CPU per request',
    value: pairedRatio(roundsOf('all traced'), roundsOf('no traces'), 'cpuUsPerRequest'),
    budget: null,
  },
];

/** Forgets the spans at once: it shares a core with PostgreSQL and the load. Resolves with its URL. */
async function startCollector({ closers }: BenchContext): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.end('{}'));
  });
  const { url, close } = await listenOnLoopback(server);
  closers.defer(close);
  return url;
}
