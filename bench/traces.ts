import { respondWith, startHttpReceiver } from '../test/support/http-receiver.ts';
import type { BenchContext } from './bench-context.ts';
import type { Comparison } from './compare.ts';
import { makeDatabase } from './database/databases.ts';
import { measureInRounds, type Target } from './measure.ts';
import type { Options } from './options.ts';
import { pairedRatio } from './ratios.ts';
import { rowsOf } from './report.ts';
import { startService } from './services.ts';
import { checkStatusTarget } from './targets.ts';
import { verifyCheckStatus } from './verify.ts';

/**
 * Compares check-status without traces, with 1 % of the requests traced, and with all (docs/benchmarks.md). A second
 * process without traces shows by how much two equal processes differ: V8 compiles and places each one's code anew.
 */
export async function compareTraces(context: BenchContext, options: Options): Promise<Comparison> {
  const collector = await startHttpReceiver({ respond: respondWith(200, '{}') });
  context.closers.defer(collector.close);
  const database = await makeDatabase(context, 'bench_small', options.smallRows);
  const start = async (name: string, sampled: number | null): Promise<Target> => {
    const traces = sampled === null ? null : { url: collector.url, sampled };
    const service = await startService(context, { name, database, traces });
    await verifyCheckStatus(context, service, database);
    return checkStatusTarget(service, database, name);
  };
  const targets = {
    off: await start('no traces', null),
    offAgain: await start('no traces, a second process', null),
    some: await start('1 % traced', 0.01),
    all: await start('all traced', 1),
  };
  const measured = await measureInRounds(context, targets, options);
  return {
    rows: rowsOf(targets, measured),
    ratios: [
      {
        title: 'no traces, a second process / the first: CPU per request',
        value: pairedRatio(measured.offAgain, measured.off, 'cpuUsPerRequest'),
        budget: null,
      },
      {
        title: '1 % traced / no traces: CPU per request',
        value: pairedRatio(measured.some, measured.off, 'cpuUsPerRequest'),
        budget: { bound: 'at most', value: 1.03 },
      },
      {
        title: 'all traced / no traces: CPU per request',
        value: pairedRatio(measured.all, measured.off, 'cpuUsPerRequest'),
        budget: null,
      },
    ],
  };
}
