import type { BenchContext } from './bench-context.ts';
import { type BenchDatabase, makeDatabase } from './database/databases.ts';
import { NUMBER } from './load/load.ts';
import { recordAnswer } from './load/record.ts';
import { type Measurement, measureInRounds, type Variant } from './measure.ts';
import type { Options } from './options.ts';
import { medians, pairedRatio, type Ratio } from './ratios.ts';
import type { Row } from './report.ts';
import { CHECK_STATUS_PATH, checkAccountRequests, checkStatusRequests, headers } from './requests.ts';
import {
  type Service,
  startBareServer,
  startInstantBank,
  startService,
  startSignatureCheckingBank,
} from './services.ts';
import { verifyBareServer, verifyCheckStatus } from './verify.ts';

export interface Comparison {
  readonly rows: readonly Row[];
  readonly ratios: readonly Ratio[];
}

type Name = 'bare' | 'small' | 'large' | 'unbatched' | 'instantBank' | 'simulatedBank';

/** Measures the service against a bare server and against itself: docs/benchmarks.md says what each row means. */
export async function compare(stage: BenchContext, options: Options): Promise<Comparison> {
  const variants = await startVariants(stage, options);
  const measured = await measureInRounds(stage, variants, options);
  return {
    rows: (Object.keys(variants) as Name[]).map((name) => ({
      title: variants[name].title,
      figures: medians(measured[name]),
    })),
    ratios: ratiosOf(measured, options),
  };
}

async function startVariants(stage: BenchContext, options: Options): Promise<Record<Name, Variant>> {
  const smallDatabase = await makeDatabase(stage, 'bench_small', options.smallRows);
  const largeDatabase = await makeDatabase(stage, 'bench_large', options.largeRows);
  stage.say('starting the servers …');
  const small = await startService(stage, { name: 'small', database: smallDatabase });
  const large = await startService(stage, { name: 'large', database: largeDatabase });
  const unbatched = await startService(stage, { name: 'unbatched', database: smallDatabase, batchMax: 1 });
  await verifyCheckStatus(stage, small, smallDatabase);
  await verifyCheckStatus(stage, large, largeDatabase);
  await verifyCheckStatus(stage, unbatched, smallDatabase);
  const bare = await startBare(stage, small);
  const toInstantBank = await startService(stage, {
    name: 'instant-bank',
    database: smallDatabase,
    rail: await startInstantBank(stage),
  });
  const toSimulatedBank = await startService(stage, {
    name: 'simulated-bank',
    database: smallDatabase,
    rail: await startSignatureCheckingBank(stage),
  });

  const status = (service: Service, database: BenchDatabase, title: string): Variant => ({
    title: `check-status, ${title}`,
    pid: service.pid,
    service,
    requests: checkStatusRequests(service.address.publicUrl, service.address.token, database),
  });
  const account = (service: Service, title: string): Variant => ({
    title: `check-account, ${title}`,
    pid: service.pid,
    service,
    requests: checkAccountRequests(service),
  });
  return {
    bare: {
      title: 'bare node:http, the same answer',
      pid: bare.pid,
      requests: checkStatusRequests(bare.address.url, small.address.token, smallDatabase),
    },
    small: status(small, smallDatabase, rowsInWords(smallDatabase.rows)),
    large: status(large, largeDatabase, rowsInWords(largeDatabase.rows)),
    unbatched: status(unbatched, smallDatabase, `${rowsInWords(smallDatabase.rows)}, without batching`),
    instantBank: account(toInstantBank, 'a bank that answers at once'),
    simulatedBank: account(toSimulatedBank, 'the simulated bank'),
  };
}

async function startBare(stage: BenchContext, service: Service) {
  const url = service.address.publicUrl + CHECK_STATUS_PATH.replace(NUMBER, '0000000000');
  const recorded = await recordAnswer(url, headers(service.address.token));
  const bare = await startBareServer(stage, recorded);
  await verifyBareServer(bare.address.url, recorded);
  return bare;
}

function ratiosOf(measured: Record<Name, Measurement[]>, { smallRows, largeRows }: Options): Ratio[] {
  const { bare, small, large, unbatched, instantBank } = measured;
  const [smallWords, largeWords] = [rowsInWords(smallRows), rowsInWords(largeRows)];
  return [
    {
      title: 'check-status / bare server: CPU per request',
      value: pairedRatio(small, bare, 'cpuUsPerRequest'),
      budget: { bound: 'at most', value: 2 },
    },
    {
      title: `check-status, ${largeWords} / ${smallWords}: CPU per request`,
      value: pairedRatio(large, small, 'cpuUsPerRequest'),
      budget: { bound: 'at most', value: 1.1 },
    },
    {
      title: 'check-account, a bank that answers at once: per second',
      value: medians(instantBank).perSecond,
      budget: { bound: 'at least', value: CHECKS_PER_SECOND },
    },
    {
      title: 'check-account / bare server: CPU per request',
      value: pairedRatio(instantBank, bare, 'cpuUsPerRequest'),
      budget: { bound: 'at most', value: Math.floor(1e6 / CHECKS_PER_SECOND / REFERENCE_BARE_US) },
    },
    {
      title: 'check-status, without / with batching: CPU per request',
      value: pairedRatio(unbatched, small, 'cpuUsPerRequest'),
      budget: null,
    },
    {
      title: 'check-status, without / with batching: throughput',
      value: pairedRatio(unbatched, small, 'perSecond'),
      budget: null,
    },
    {
      title: 'check-status / bare server: throughput',
      value: pairedRatio(small, bare, 'perSecond'),
      budget: null,
    },
  ];
}

/** What was asked for on a machine on which a bare request costs so much: a slower one can hold only the ratio of them. */
const CHECKS_PER_SECOND = 5_000;
const REFERENCE_BARE_US = 8.5;

const rowsInWords = (rows: number): string =>
  rows % 1_000_000 === 0 ? `${rows / 1_000_000} million rows` : `${rows / 1_000} thousand rows`;
