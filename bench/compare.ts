import { startBaseline } from './baseline.ts';
import type { BenchContext } from './bench-context.ts';
import { makeDatabase } from './database/databases.ts';
import { type Measurement, measureInRounds, type Target } from './measure.ts';
import type { Options } from './options.ts';
import { medians, pairedRatio, type Ratio } from './ratios.ts';
import { type Row, rowsOf } from './report.ts';
import { checkAccountRequests, checkStatusBatchRequests, checkStatusByReferenceRequests } from './requests.ts';
import { type Service, startInstantBank, startService, startSignatureCheckingBank } from './services.ts';
import { checkStatusTarget } from './targets.ts';
import { verifyCheckStatus, verifyCheckStatusBatch } from './verify.ts';

export interface Comparison {
  readonly rows: readonly Row[];
  readonly ratios: readonly Ratio[];
}

type Name =
  | 'baseline'
  | 'small'
  | 'byReference'
  | 'large'
  | 'unbatched'
  | 'batchOf100'
  | 'instantBank'
  | 'simulatedBank';

/** Compares the service with a baseline server and with itself. docs/benchmarks.md explains each row. */
export async function compare(context: BenchContext, options: Options): Promise<Comparison> {
  const targets = await startTargets(context, options);
  const measured = await measureInRounds(context, targets, options);
  return {
    rows: rowsOf(targets, measured),
    ratios: ratiosOf(measured, options),
  };
}

async function startTargets(context: BenchContext, options: Options): Promise<Record<Name, Target>> {
  const smallDatabase = await makeDatabase(context, 'bench_small', options.smallRows);
  const largeDatabase = await makeDatabase(context, 'bench_large', options.largeRows);
  context.logProgress('starting the servers …');
  const small = await startService(context, { name: 'small', database: smallDatabase });
  const large = await startService(context, { name: 'large', database: largeDatabase });
  const unbatched = await startService(context, { name: 'unbatched', database: smallDatabase, batchMax: 1 });
  await verifyCheckStatus(context, small, smallDatabase);
  await verifyCheckStatus(context, large, largeDatabase);
  await verifyCheckStatus(context, unbatched, smallDatabase);
  const batches = await startService(context, { name: 'batches', database: smallDatabase });
  await verifyCheckStatusBatch(context, batches, smallDatabase);
  const baseline = await startBaseline(context, small, smallDatabase);
  const toInstantBank = await startService(context, {
    name: 'instant-bank',
    database: smallDatabase,
    rail: await startInstantBank(context),
  });
  const toSimulatedBank = await startService(context, {
    name: 'simulated-bank',
    database: smallDatabase,
    rail: await startSignatureCheckingBank(context),
  });
  return {
    baseline,
    small: checkStatusTarget(small, smallDatabase, size(smallDatabase.rows)),
    byReference: {
      title: BY_REFERENCE,
      pid: small.pid,
      service: small,
      requests: checkStatusByReferenceRequests(small.address.publicUrl, small.address.token, smallDatabase),
    },
    large: checkStatusTarget(large, largeDatabase, size(largeDatabase.rows)),
    unbatched: checkStatusTarget(unbatched, smallDatabase, `${size(smallDatabase.rows)}, no batching`),
    batchOf100: {
      title: 'check-status, batch of 100',
      pid: batches.pid,
      service: batches,
      requests: checkStatusBatchRequests(batches.address.publicUrl, batches.address.token, smallDatabase),
    },
    instantBank: checkAccountTarget(toInstantBank, 'instant bank'),
    simulatedBank: checkAccountTarget(toSimulatedBank, 'simulated bank'),
  };
}

const BY_REFERENCE = 'check-status by reference ID';

const checkAccountTarget = (service: Service, title: string): Target => ({
  title: `check-account, ${title}`,
  pid: service.pid,
  service,
  requests: checkAccountRequests(service),
});

function ratiosOf(measured: Record<Name, Measurement[]>, { smallRows, largeRows }: Options): Ratio[] {
  const { baseline, small, byReference, large, unbatched, batchOf100, instantBank } = measured;
  return [
    {
      title: 'check-status / baseline: CPU per request',
      value: pairedRatio(small, baseline, 'cpuUsPerRequest'),
      budget: { bound: 'at most', value: 1.6 },
    },
    {
      title: `check-status, ${size(largeRows)} / ${size(smallRows)}: CPU per request`,
      value: pairedRatio(large, small, 'cpuUsPerRequest'),
      budget: { bound: 'at most', value: 1.1 },
    },
    {
      title: `${BY_REFERENCE} / by transaction ID: CPU per request`,
      value: pairedRatio(byReference, small, 'cpuUsPerRequest'),
      budget: { bound: 'at most', value: 1.2 },
    },
    {
      title: 'check-status, batch of 100 / one: CPU per request',
      value: pairedRatio(batchOf100, small, 'cpuUsPerRequest'),
      budget: { bound: 'at most', value: 25 },
    },
    {
      title: 'check-account, instant bank: per second',
      value: medians(instantBank).perSecond,
      budget: { bound: 'at least', value: CHECKS_PER_SECOND },
    },
    {
      title: 'check-account / baseline: CPU per request',
      value: pairedRatio(instantBank, baseline, 'cpuUsPerRequest'),
      budget: { bound: 'at most', value: Math.floor(1e6 / CHECKS_PER_SECOND / REFERENCE_BASELINE_US) },
    },
    {
      title: 'check-status, no batching / batching: CPU per request',
      value: pairedRatio(unbatched, small, 'cpuUsPerRequest'),
      budget: null,
    },
    {
      title: 'check-status, no batching / batching: per second',
      value: pairedRatio(unbatched, small, 'perSecond'),
      budget: null,
    },
    {
      title: 'check-status / baseline: per second',
      value: pairedRatio(small, baseline, 'perSecond'),
      budget: null,
    },
  ];
}

/**
 * The required throughput, on a machine whose baseline server needs REFERENCE_BASELINE_US per request. A slower machine
 * can only meet the ratio of the two.
 */
const CHECKS_PER_SECOND = 5_000;
const REFERENCE_BASELINE_US = 8.5;

const size = (rows: number): string => `${rows.toLocaleString('en')} transactions`;
