import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, realpath, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findPostmaster, isServerOf } from '../../apps/server/src/embedded-postgres/postmaster.ts';
import { removeLeftoverSocketDirectories } from '../../apps/server/src/embedded-postgres/socket.ts';
import type { SandboxDescription } from '../../apps/server/src/sandbox/description.ts';
import { eventually } from './eventually.ts';
import { INHERITED } from './suite-environment.ts';

const MAIN = fileURLToPath(new URL('../../apps/server/src/main.ts', import.meta.url));
const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 20_000;
const POLL_MS = 20;

export interface SandboxOptions {
  /** Created if it does not exist. A later sandbox on the same directory finds the stored data. */
  readonly dataDirectory: string;
  /** Further settings; the ports are always free ones. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** `npm start` as a child process. */
export interface Sandbox {
  /** The content of sandbox.json. */
  readonly description: SandboxDescription;
  /** The process id of the service, to measure it and to send it signals. */
  readonly pid: number;
  /** Its output to the terminal so far. */
  output(): string;
  /**
   * Stops it as Ctrl-C does; resolves with the exit code. Also stops the processes that a killed sandbox left: call it
   * at the end of each test.
   */
  stop(): Promise<number | null>;
  /** kill -9: PostgreSQL is left running, for the next sandbox or `stop` to find. */
  kill(): Promise<void>;
}

/** Resolves when the sandbox is ready. When the start fails, no process of it is left. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  await mkdir(options.dataDirectory, { recursive: true });
  // The kernel reports processes by real paths, and leftovers are found by them.
  const dataDirectory = await realpath(options.dataDirectory);
  const descriptionFile = path.join(dataDirectory, 'sandbox.json');
  // A killed sandbox leaves its description.
  await rm(descriptionFile, { force: true });
  const child = spawn(process.execPath, [MAIN, 'sandbox'], {
    cwd: path.dirname(dataDirectory),
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...INHERITED,
      TIBA_PORT: '0',
      TIBA_OPERATOR_PORT: '0',
      TIBA_SNAP_PORT: '0',
      TIBA_DATA_DIR: dataDirectory,
      // Tests make their own.
      TIBA_DEMO_TRANSACTIONS: 'no',
      // A machine that is busy with tests delays every event loop.
      TIBA_EVENT_LOOP_DELAY_MS: '0',
      ...options.environment,
    },
  });
  const exited = once(child, 'exit').then(([code]: (number | null)[]) => code ?? null);
  const killWithTests = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithTests);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    child.kill(signal);
    const deadline = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    const code = await exited;
    clearTimeout(deadline);
    process.off('exit', killWithTests);
    return code;
  }

  async function stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const code = await end(signal);
    await stopLeftoverPostgres(path.join(dataDirectory, 'postgres'));
    return code;
  }

  try {
    const description = await untilDescribed(descriptionFile, exited);
    return {
      description,
      pid: child.pid ?? 0,
      output: () => output,
      stop: () => stop(),
      kill: async () => void (await end('SIGKILL')),
    };
  } catch (error) {
    await stop('SIGKILL');
    throw new Error(`the sandbox did not become ready; its output:\n${output}`, { cause: error });
  }
}

async function untilDescribed(file: string, exited: Promise<number | null>): Promise<SandboxDescription> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  const ended = exited.then((code) => `ended with code ${code}`);
  while (performance.now() < deadline) {
    const text = await readFile(file, 'utf8').catch(() => null);
    if (text !== null) return JSON.parse(text) as SandboxDescription;
    const end = await Promise.race([ended, delay(POLL_MS, null)]);
    if (end !== null) throw new Error(end);
  }
  throw new Error(`no ${file} within ${READY_TIMEOUT_MS} ms`);
}

/** A killed service leaves its PostgreSQL running. The next service would stop it, and so must the end of a test. */
async function stopLeftoverPostgres(dataDirectory: string): Promise<void> {
  const postmaster = await findPostmaster(dataDirectory).catch(() => null);
  if (postmaster !== null && (await isServerOf(dataDirectory, postmaster.pid))) {
    // Immediate shutdown: its data is not needed any more.
    process.kill(postmaster.pid, 'SIGQUIT');
    await eventually('PostgreSQL exits', async () => !(await isServerOf(dataDirectory, postmaster.pid)));
  }
  await removeLeftoverSocketDirectories(dataDirectory, postmaster?.socketDirectory ?? null);
}
