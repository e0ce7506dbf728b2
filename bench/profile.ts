import { mkdir, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BenchContext } from './bench-context.ts';
import { makeDatabase } from './database/databases.ts';
import type { Requests } from './load/load.ts';
import type { Options } from './options.ts';
import { type CpuProfile, summariseProfile } from './profile-summary.ts';
import { checkAccountRequests, checkStatusRequests } from './requests.ts';
import { type Service, type ServiceOptions, startInstantBank, startService } from './services.ts';

const RESULTS = fileURLToPath(new URL('results', import.meta.url));
const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Fine enough to tell functions of microseconds apart. */
const SAMPLING_INTERVAL_US = 200;

/**
 * Puts load on the service while V8 takes samples of where it is. Writes the profiles, which Chrome's DevTools open, to
 * `results/`, and gives the functions that most of the time was spent in.
 */
export async function profile(stage: BenchContext, options: Options): Promise<string> {
  const database = await makeDatabase(stage, 'bench_small', options.smallRows);
  const status = await profileOne(stage, options, { name: 'check-status', database }, ({ address }) =>
    checkStatusRequests(address.publicUrl, address.token, database),
  );
  const rail = await startInstantBank(stage);
  const account = await profileOne(stage, options, { name: 'check-account', database, rail }, checkAccountRequests);
  return `${status}\n\n${account}`;
}

async function profileOne(
  stage: BenchContext,
  { warmUpSeconds, roundSeconds }: Options,
  service: ServiceOptions,
  requestsFor: (service: Service) => Requests,
): Promise<string> {
  const directory = path.join(RESULTS, `${service.name}-${new Date().toISOString().replaceAll(':', '-')}`);
  await mkdir(directory, { recursive: true });
  const nodeOptions = ['--cpu-prof', `--cpu-prof-dir=${directory}`, `--cpu-prof-interval=${SAMPLING_INTERVAL_US}`];
  const running = await startService(stage, { ...service, nodeOptions });
  const requests = requestsFor(running);
  const { signal } = stage;
  stage.say(`profiling ${service.name} …`);
  await stage.load.run({ requests, seconds: warmUpSeconds, run: 1, signal });
  const fromUs = monotonicUs();
  const { answered } = await stage.load.run({ requests, seconds: roundSeconds, run: 2, signal });
  const toUs = monotonicUs();
  // The profile is written when the process ends.
  await running.stop();
  const [file] = await readdir(directory);
  if (file === undefined) throw new Error(`no profile was written to ${directory}`);
  const written = path.join(directory, file);
  const summary = summariseProfile(JSON.parse(await readFile(written, 'utf8')) as CpuProfile, {
    fromUs,
    toUs,
    root: ROOT,
  });
  const count = answered.toLocaleString('en');
  return `${service.name}: ${count} requests after the warm-up; ${path.relative(ROOT, written)}\n${summary}`;
}

/** On the clock of the machine, which V8 stamps its samples with. */
const monotonicUs = (): number => Number(process.hrtime.bigint() / 1000n);
