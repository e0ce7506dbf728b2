import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  type Load,
  type LoadResult,
  type LoadRun,
  NUMBER,
  NUMBER_DIGITS,
  NUMBERS_PER_RUN,
  type Requests,
} from './load.ts';

const SCRIPT = fileURLToPath(new URL('wrk.lua', import.meta.url));

const execute = promisify(execFile);

/** Null where wrk is not installed. */
export async function findWrk(): Promise<Load | null> {
  const version = await readVersion();
  return version === null ? null : { name: `wrk ${version}`, run };
}

async function readVersion(): Promise<string | null> {
  const usage = await execute('wrk', ['--version']).catch((error: NodeJS.ErrnoException & { stdout?: string }) =>
    // wrk prints its version and then exits with code 1.
    error.code === 'ENOENT' || error.code === 'EACCES' ? null : { stdout: error.stdout ?? '' },
  );
  return usage === null ? null : (/\d+\.\d+\.\d+/.exec(usage.stdout)?.[0] ?? '');
}

async function run({ requests, connections, seconds, run, signal }: LoadRun): Promise<LoadResult> {
  const [before, after] = rawRequest(requests).split(NUMBER);
  const { numbers } = requests;
  const { stdout } = await execute(
    'wrk',
    [
      `--connections=${connections}`,
      '--threads=1',
      // wrk takes whole seconds only.
      `--duration=${Math.ceil(seconds)}s`,
      `--script=${SCRIPT}`,
      requests.origin,
    ],
    {
      signal,
      env: {
        ...process.env,
        BENCH_BEFORE: before,
        BENCH_AFTER: after,
        BENCH_BELOW: numbers.order === 'random' ? String(numbers.below) : '',
        BENCH_FROM: String(run * NUMBERS_PER_RUN),
      },
    },
  );
  return parseResult(stdout);
}

/** The bytes of the request, with NUMBER in place of the number. All of them are ASCII. */
function rawRequest({ origin, method, path, headers, body }: Requests): string {
  const length = body.length - NUMBER.length + NUMBER_DIGITS;
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${new URL(origin).host}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === '' ? [] : [`Content-Length: ${length}`]),
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

interface WrkResult {
  readonly answered: number;
  readonly failed: number;
  readonly durationUs: number;
  readonly p50Us: number;
  readonly p99Us: number;
}

function parseResult(output: string): LoadResult {
  const line = /^BENCH (.*)$/m.exec(output)?.[1];
  if (line === undefined) throw new Error(`wrk printed no result:\n${output}`);
  const { answered, failed, durationUs, p50Us, p99Us } = JSON.parse(line) as WrkResult;
  return { answered, failed, seconds: durationUs / 1e6, p50Ms: p50Us / 1000, p99Ms: p99Us / 1000 };
}
