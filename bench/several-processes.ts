import { open, readFile } from 'node:fs/promises';
import path from 'node:path';
import { generateSecret, hashSecret } from '../apps/server/src/auth/secrets.ts';
import { replaceClientSecret } from '../apps/server/src/postgres/client-secrets.ts';
import { openDatabase } from '../apps/server/src/postgres/database.ts';
import { processTreeOf } from '../test/sandbox/processes.ts';
import { eventually } from '../test/support/eventually.ts';
import { logIn, startServe } from '../test/support/serve.ts';
import { startBaseline } from './baseline.ts';
import type { BenchContext } from './bench-context.ts';
import type { Comparison } from './compare.ts';
import { type BenchDatabase, makeDatabase } from './database/databases.ts';
import { CLIENT_ID } from './database/prototypes.ts';
import { CONNECTIONS } from './load/load.ts';
import { measureInRounds, type Target } from './measure.ts';
import type { Options } from './options.ts';
import { pairedRatio } from './ratios.ts';
import { rowsOf } from './report.ts';
import { checkStatusRequests } from './requests.ts';
import type { Service } from './services.ts';
import { verifyCheckStatus } from './verify.ts';

/**
 * `npm run serve` with TIBA_PROCESSES=2, and with one process; and two services, and two baseline servers, that share
 * nothing but the core. They say what two processes cost that take turns on one core (docs/benchmarks.md).
 */
export async function compareProcesses(context: BenchContext, options: Options): Promise<Comparison> {
  const database = await makeDatabase(context, 'bench_small', options.smallRows);
  const secret = await giveSecret(context, database);
  const one = await startTarget(context, database, { processes: 1, secret });
  const another = await startTarget(context, database, { processes: 1, secret });
  const two = await startTarget(context, database, { processes: 2, secret });
  const baseline = await startBaseline(context, one.service, database);
  const anotherBaseline = await startBaseline(context, one.service, database);
  const targets = {
    one,
    two,
    twoFull: { ...two, title: `${two.title}, ${CONNECTIONS} in flight each`, connections: 2 * CONNECTIONS },
    apart: {
      ...one,
      title: 'check-status, two services of one process',
      workers: [...(one.workers ?? []), another.pid, ...(another.workers ?? [])],
      secondRequests: another.requests,
    },
    baseline,
    twoBaselines: {
      ...baseline,
      title: 'two baseline servers',
      workers: [anotherBaseline.pid],
      secondRequests: anotherBaseline.requests,
    },
  };
  const measured = await measureInRounds(context, targets, options);
  return {
    rows: rowsOf(targets, measured),
    ratios: [
      {
        title: 'two processes and their parent / one process: CPU per request',
        value: pairedRatio(measured.two, measured.one, 'cpuUsPerRequest'),
        budget: { bound: 'at most', value: 1.1 },
      },
      {
        title: `two processes and their parent, ${CONNECTIONS} in flight each / one process: CPU per request`,
        value: pairedRatio(measured.twoFull, measured.one, 'cpuUsPerRequest'),
        budget: null,
      },
      {
        title: 'two services of one process / one process: CPU per request',
        value: pairedRatio(measured.apart, measured.one, 'cpuUsPerRequest'),
        budget: null,
      },
      {
        title: 'two processes and their parent / two services of one process: CPU per request',
        value: pairedRatio(measured.two, measured.apart, 'cpuUsPerRequest'),
        budget: null,
      },
      {
        title: 'two baseline servers / one baseline server: CPU per request',
        value: pairedRatio(measured.twoBaselines, measured.baseline, 'cpuUsPerRequest'),
        budget: null,
      },
      {
        title: 'two processes / one process: per second',
        value: pairedRatio(measured.two, measured.one, 'perSecond'),
        budget: null,
      },
    ],
  };
}

/** The client of the requests logs in, as any client of production does. */
async function giveSecret({ log }: BenchContext, { connectionString }: BenchDatabase): Promise<string> {
  const secret = generateSecret();
  const database = openDatabase({ connection: { connectionString }, connectionsMax: 1, log });
  try {
    await replaceClientSecret(database, CLIENT_ID, hashSecret(secret));
    return secret;
  } finally {
    await database.close();
  }
}

async function startTarget(
  context: BenchContext,
  database: BenchDatabase,
  { processes, secret }: { readonly processes: number; readonly secret: string },
): Promise<Target & { readonly service: Service }> {
  const { cores, directory, closers, signal } = context;
  signal.throwIfAborted();
  const logFile = path.join(directory, `processes-${processes}.log`);
  const stdout = await open(logFile, 'a');
  const served = await startServe({
    database: { connection: { connectionString: database.connectionString } },
    stdout: stdout.fd,
    prefix: cores === null ? [] : ['taskset', '--cpu-list', String(cores.server)],
    environment: { TIBA_PROCESSES: String(processes), TIBA_EVENT_LOOP_DELAY_MS: '0' },
  });
  await stdout.close();
  closers.defer(async () => {
    await served.terminate();
    await served.release();
  });
  const isStarted = async (): Promise<boolean> => (await readFile(logFile, 'utf8')).includes('all processes are ready');
  if (processes > 1) await eventually('all processes are ready', isStarted);
  const pid = served.child.pid as number;
  const service = {
    pid,
    address: {
      publicUrl: served.url,
      operatorUrl: served.operatorUrl,
      token: await logIn(served.url, CLIENT_ID, secret),
      controlUrl: null,
      others: [],
    },
    stop: async () => {},
    logFile,
  };
  await verifyCheckStatus(context, service, database);
  const tree = await processTreeOf(pid);
  return {
    title: processes === 1 ? 'check-status, one process' : `check-status, ${processes} processes and their parent`,
    pid,
    workers: tree.map((each) => each.pid).filter((each) => each !== pid),
    service,
    requests: checkStatusRequests(served.url, service.address.token, database),
  };
}
