import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SandboxDescription } from '../../apps/server/src/sandbox/description.ts';
import type { TestDirectory } from '../embedded-postgres/harness.ts';
import { INHERITED } from '../support/suite-environment.ts';
import { type ProcessInfo, processTreeOf, untilEnded } from './processes.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DEADLINE_MS = 60_000;

/** `npm start` or `npm run …` as from a terminal: npm leads a process group, and Ctrl-C reaches the whole group. */
export interface NpmProcess {
  readonly pid: number;
  /** The output to the terminal so far. */
  stdout(): string;
  stderr(): string;
  /** Resolves when stdout contains this text; rejects when the process exits before. */
  untilOutput(text: string): Promise<void>;
  /** npm's exit code, or the name of the signal that ended it. */
  readonly exited: Promise<number | string>;
  /** npm and all its current descendants. */
  processTree(): Promise<ProcessInfo[]>;
  /** The program that npm runs. */
  program(): Promise<ProcessInfo>;
  /** Sends a signal to npm alone, as a supervisor does. */
  signal(signal: NodeJS.Signals): void;
  /** Sends a signal to the whole process group, as Ctrl-C does. */
  signalGroup(signal: NodeJS.Signals): void;
  /** Reads no more output, like a closed terminal. */
  closeTerminal(): void;
}

export const dataDirectoryOf = (testDirectory: TestDirectory): string => path.dirname(testDirectory.dataDirectory);

/** Starts npm with the test's data directory, on free ports. Processes left after the test are killed. */
export function startNpm(
  testDirectory: TestDirectory,
  args: readonly string[],
  environment: Record<string, string> = {},
): NpmProcess {
  const child = spawn('npm', args, {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...INHERITED,
      // npm writes its own log there.
      HOME: dataDirectoryOf(testDirectory),
      npm_config_update_notifier: 'false',
      TIBA_PORT: '0',
      TIBA_OPERATOR_PORT: '0',
      TIBA_SNAP_PORT: '0',
      TIBA_DATA_DIR: dataDirectoryOf(testDirectory),
      ...environment,
    },
  });
  const pid = child.pid ?? 0;
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => (output[name] += chunk.toString()));
  }
  let hasEnded = false;
  const exited = once(child, 'close').then(([code, signal]: (number | string | null)[]) => {
    hasEnded = true;
    return code ?? signal ?? '';
  });

  const started: ProcessInfo[] = [];
  const processTree = async (): Promise<ProcessInfo[]> => {
    const now = await processTreeOf(pid);
    started.push(...now);
    return now;
  };
  testDirectory.cleanups.push(async () => {
    if (!hasEnded) await processTree();
    for (const { pid: left } of started) sendTo(left, 'SIGKILL');
    await untilEnded(started);
  });

  return {
    pid,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    exited,
    processTree,
    async untilOutput(text) {
      const deadline = AbortSignal.timeout(DEADLINE_MS);
      const ended = exited.then((code) => {
        throw new Error(`npm ended with ${code}:\n${output.stdout}\n${output.stderr}`);
      });
      while (!output.stdout.includes(text)) {
        await Promise.race([once(child.stdout, 'data', { signal: deadline }), ended]);
      }
    },
    async program() {
      const program = (await processTree()).find(({ parentPid }) => parentPid === pid);
      if (program === undefined) throw new Error('npm runs no program');
      return program;
    },
    signal: (signal) => sendTo(pid, signal),
    signalGroup: (signal) => sendTo(-pid, signal),
    closeTerminal: () => void child.stdout.destroy(),
  };
}

export interface RunningSandbox extends NpmProcess {
  readonly description: SandboxDescription;
}

/** Runs `npm start` and waits until it is ready. */
export async function startNpmSandbox(
  testDirectory: TestDirectory,
  environment: Record<string, string> = {},
): Promise<RunningSandbox> {
  const npm = startNpm(testDirectory, ['start'], environment);
  await npm.untilOutput('Stop: Ctrl-C');
  const file = path.join(dataDirectoryOf(testDirectory), 'sandbox.json');
  return { ...npm, description: JSON.parse(await readFile(file, 'utf8')) as SandboxDescription };
}

function sendTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has exited in the meantime.
  }
}
