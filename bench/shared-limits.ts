import { startTestValkey, VALKEY_MISSING } from '../test/support/valkey.ts';
import type { BenchContext } from './bench-context.ts';
import type { Comparison } from './compare.ts';
import { makeDatabase } from './database/databases.ts';
import { measureInRounds, type Target } from './measure.ts';
import { type Options, OptionsError } from './options.ts';
import { pairedRatio } from './ratios.ts';
import { rowsOf } from './report.ts';
import { startService } from './services.ts';
import { checkStatusTarget } from './targets.ts';
import { verifyCheckStatus } from './verify.ts';

/** Compares check-status with limits in Valkey, on 127.0.0.1, and with limits in the process (docs/benchmarks.md). */
export async function compareSharedLimits(context: BenchContext, options: Options): Promise<Comparison> {
  if (VALKEY_MISSING !== false) throw new OptionsError(`--shared-limits: ${VALKEY_MISSING}`);
  const valkey = await startTestValkey();
  context.closers.defer(valkey.stop);
  const database = await makeDatabase(context, 'bench_small', options.smallRows);
  const start = async (name: string, valkeyUrl: string | null): Promise<Target> => {
    const service = await startService(context, { name, database, valkeyUrl });
    await verifyCheckStatus(context, service, database);
    return checkStatusTarget(service, database, name);
  };
  const targets = {
    own: await start('limits in the process', null),
    shared: await start('limits in Valkey', valkey.url),
  };
  const measured = await measureInRounds(context, targets, options);
  return {
    rows: rowsOf(targets, measured),
    ratios: [
      {
        title: 'limits in Valkey / in the process: CPU per request',
        value: pairedRatio(measured.shared, measured.own, 'cpuUsPerRequest'),
        budget: { bound: 'at most', value: 1.25 },
      },
    ],
  };
}
