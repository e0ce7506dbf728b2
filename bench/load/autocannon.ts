import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { type Load, type LoadResult, type LoadRun, NUMBER, NUMBER_DIGITS, NUMBERS_PER_RUN } from './load.ts';

// autocannon has no types. This declares the part of it that is used.
type Autocannon = (options: AutocannonOptions, done: (error: Error | null, result: AutocannonResult) => void) => Run;

interface AutocannonOptions {
  readonly url: string;
  readonly connections: number;
  /** In seconds. */
  readonly duration: number;
  /** Interval of its checks whether the time is over, in milliseconds. */
  readonly sampleInt: number;
  readonly requests: readonly { readonly setupRequest: (request: RequestFields) => RequestFields }[];
}

interface RequestFields {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface AutocannonResult {
  readonly errors: number;
  readonly non2xx: number;
}

interface Run extends EventEmitter {
  stop(): void;
}

const STOP_CHECK_MS = 50;

const require = createRequire(import.meta.url);
const autocannon = require('autocannon') as Autocannon;
const { version } = require('autocannon/package.json') as { version: string };

/** The load where wrk is not installed. It runs in this process, and sends fewer requests per core than wrk. */
export const autocannonLoad = (): Load => ({ name: `autocannon ${version}`, run });

async function run({ requests, connections, seconds: duration, run, signal }: LoadRun): Promise<LoadResult> {
  signal.throwIfAborted();
  const { origin, method, path, headers, body, numbers } = requests;
  let count = run * NUMBERS_PER_RUN;
  const next = (): string => {
    const number = numbers.order === 'random' ? Math.floor(Math.random() * numbers.below) : (count += 1);
    return String(number).padStart(NUMBER_DIGITS, '0');
  };
  const setupRequest = (request: RequestFields): RequestFields => {
    const number = next();
    return {
      ...request,
      method,
      headers,
      path: path.replace(NUMBER, number),
      ...(body === '' ? {} : { body: body.replace(NUMBER, number) }),
    };
  };

  const latenciesMs: number[] = [];
  const finished = Promise.withResolvers<AutocannonResult>();
  const startedMs = performance.now();
  const running = autocannon(
    {
      url: origin,
      connections,
      duration,
      sampleInt: STOP_CHECK_MS,
      requests: [{ setupRequest }],
    },
    (error, result) => (error === null ? finished.resolve(result) : finished.reject(error)),
  );
  // autocannon's percentiles are whole milliseconds.
  running.on('response', (_client, _status, _bytes, latencyMs: number) => latenciesMs.push(latencyMs));
  const stop = (): void => running.stop();
  signal.addEventListener('abort', stop, { once: true });
  const { errors, non2xx } = await finished.promise;
  signal.removeEventListener('abort', stop);
  signal.throwIfAborted();

  const seconds = (performance.now() - startedMs) / 1000;
  latenciesMs.sort((one, other) => one - other);
  const percentile = (percent: number): number =>
    latenciesMs[Math.ceil((latenciesMs.length * percent) / 100) - 1] ?? Number.NaN;
  return {
    answered: latenciesMs.length,
    failed: errors + non2xx,
    seconds,
    p50Ms: percentile(50),
    p99Ms: percentile(99),
  };
}
