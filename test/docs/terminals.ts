import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from '../support/eventually.ts';
import { timeLimitMs } from '../support/suite-environment.ts';

/** The terminals of a reader who pastes the commands of a page, block by block. */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const LIMIT_MS = timeLimitMs(60_000);

export interface PastedBlock {
  readonly commands: string;
  /** The page says that it needs a terminal of its own: its last command does not end. */
  readonly runsOn: boolean;
  /** The page says that this terminal begins with the login of the five-minute start. */
  readonly needsLogin: boolean;
}

const OWN_TERMINAL =
  /In\sa\sterminal\sof\sits\sown(?:,\sin\sthe\ssame\sfolder|,\swith\sthe\slogin\sof\s\[the\sstart\]\([^)]*\))?:\s*$/;

/** Every block that a test of this process has pasted. */
export const pastedBlocks = new Set<string>();

/** The shell blocks of a part of a page. */
export function blocksOf(page: string): PastedBlock[] {
  return [...page.matchAll(/([^`]*?)```sh\n([^]*?)```/g)].map(([, before = '', commands = '']) => ({
    commands,
    runsOn: OWN_TERMINAL.test(before),
    needsLogin: /\[the start\]\(start\.md#2-ask-the-two-questions\):\s*$/.test(before),
  }));
}

export interface Terminal {
  /** Resolves with what the block has printed. @throws Error when a command of it fails */
  paste(commands: string): Promise<string>;
  close(): void;
}

/** One bash, in which the variables of one block are there for the next one. `directory` is for its own files. */
export function openTerminal(environment: NodeJS.ProcessEnv, directory: string): Terminal {
  const bash = spawn('bash', ['--norc', '-eu'], { cwd: ROOT, env: environment });
  let printed = '';
  for (const stream of [bash.stdout, bash.stderr]) stream.on('data', (chunk) => (printed += String(chunk)));
  let blocks = 0;
  return {
    async paste(commands) {
      blocks += 1;
      const from = printed.length;
      const file = path.join(directory, `block-${blocks}.sh`);
      const end = `end of block ${blocks}\n`;
      await writeFile(file, commands);
      bash.stdin.write(`source ${file} < /dev/null\nprintf '\\n${end.replace('\n', '\\n')}'\n`);
      await eventually(`block ${blocks} has ended`, () => printed.endsWith(end) || bash.exitCode !== null, LIMIT_MS);
      const output = printed.slice(from);
      if (bash.exitCode !== null) throw new Error(`a command failed (${bash.exitCode}):\n${commands}\n${output}`);
      return output.slice(0, -end.length);
    },
    close: () => void bash.stdin.end(),
  };
}

export interface RunningTerminal {
  printed(): string;
  /** Ctrl-C. Resolves with the exit code, or the signal that ended it. */
  interrupt(): Promise<number | string | null>;
  /** Ends what is left. */
  kill(): void;
}

/** A terminal of its own for a block whose last command runs on. Resolves when it has printed `ready`. */
export async function runOn(commands: string, environment: NodeJS.ProcessEnv, ready: RegExp): Promise<RunningTerminal> {
  // A process group of its own, which Ctrl-C reaches as a whole.
  const child = spawn('bash', ['--norc', '-euc', commands], { cwd: ROOT, env: environment, detached: true });
  const exited = once(child, 'exit');
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += String(chunk)));
  const kill = (): void => signalGroup(child, 'SIGKILL');
  try {
    await eventually(`it prints ${ready}`, () => ready.test(printed) || child.exitCode !== null, LIMIT_MS);
    if (child.exitCode !== null) throw new Error(`it ended (${child.exitCode}):\n${commands}\n${printed}`);
  } catch (error) {
    kill();
    throw error;
  }
  return {
    printed: () => printed,
    async interrupt() {
      signalGroup(child, 'SIGINT');
      const [code, signal] = await exited;
      return code ?? signal;
    },
    kill,
  };
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended.
  }
}
