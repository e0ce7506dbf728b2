import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
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
  const collector = await startCollector(context);
  const database = await makeDatabase(context, 'bench_small', options.smallRows);
  const start = async (name: string, sampled: number | null): Promise<Target> => {
    const traces = sampled === null ? null : { url: collector, sampled };
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
