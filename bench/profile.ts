import { mkdir, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BenchContext } from './bench-context.ts';
import { makeDatabase } from './database/databases.ts';
import { CONNECTIONS, type Requests } from './load/load.ts';
import type { Options } from './options.ts';
import { type CpuProfile, summarizeProfile } from './profile-summary.ts';
import { checkAccountRequests, checkStatusRequests } from './requests.ts';
import { type Service, type ServiceOptions, startInstantBank, startService } from './services.ts';

const RESULTS = fileURLToPath(new URL('results', import.meta.url));
const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Short enough to show functions that take microseconds. */
const SAMPLING_INTERVAL_US = 200;

/**
 * Puts load on the service while V8 samples its call stack. Writes the profiles, which Chrome's DevTools can open, to
 * `results/`, and resolves to a summary of the functions with the most self time.
 */
export async function profile(context: BenchContext, options: Options): Promise<string> {
  const database = await makeDatabase(context, 'bench_small', options.smallRows);
  const status = await profileOne(context, options, { name: 'check-status', database }, ({ address }) =>
    checkStatusRequests(address.publicUrl, address.token, database),
  );
  const rail = await startInstantBank(context);
  const account = await profileOne(context, options, { name: 'check-account', database, rail }, checkAccountRequests);
  return `${status}\n\n${account}`;
}

async function profileOne(
  context: BenchContext,
  { warmUpSeconds, roundSeconds }: Options,
  service: ServiceOptions,
  requestsFor: (service: Service) => Requests,
): Promise<string> {
  const directory = path.join(RESULTS, `${service.name}-${new Date().toISOString().replaceAll(':', '-')}`);
  await mkdir(directory, { recursive: true });
  const nodeOptions = ['--cpu-prof', `--cpu-prof-dir=${directory}`, `--cpu-prof-interval=${SAMPLING_INTERVAL_US}`];
  const running = await startService(context, { ...service, nodeOptions });
  const requests = requestsFor(running);
  const { signal } = context;
  context.logProgress(`profiling ${service.name} …`);
  if (warmUpSeconds > 0)
    await context.load.run({ requests, connections: CONNECTIONS, seconds: warmUpSeconds, run: 1, signal });
  const fromUs = monotonicUs();
  const { answered } = await context.load.run({
    requests,
    connections: CONNECTIONS,
    seconds: roundSeconds,
    run: 2,
    signal,
  });
  const toUs = monotonicUs();
  // V8 writes the profile when the process ends.
  await running.stop();
  const [file] = await readdir(directory);
  if (file === undefined) throw new Error(`no profile was written to ${directory}`);
  const written = path.join(directory, file);
  const summary = summarizeProfile(JSON.parse(await readFile(written, 'utf8')) as CpuProfile, {
    fromUs,
    toUs,
    root: ROOT,
  });
  const count = answered.toLocaleString('en');
  return `${service.name}: ${count} requests after the warm-up; ${path.relative(ROOT, written)}\n${summary}`;
}

/** The machine's monotonic clock, which V8 uses for its samples. */
const monotonicUs = (): number => Number(process.hrtime.bigint() / 1000n);
