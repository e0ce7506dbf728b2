import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { eventually } from '../support/eventually.ts';
import type { TestClient, TestService } from '../support/service.ts';
import { INHERITED } from '../support/suite-environment.ts';

/** The program's main file. */
export const MAIN = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url));

/** For `createCli`: the program as in a terminal. Its output is a pipe that says it is a terminal, without colors. */
export function inTerminal(columns: number, colorDepth = 1): readonly [command: string, ...args: string[]] {
  const terminal = `for (const stream of [process.stdout, process.stderr])
    Object.assign(stream, { isTTY: true, columns: ${columns}, getColorDepth: () => ${colorDepth} });`;
  return [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(terminal)}`, MAIN];
}

export interface CliEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command line as a process, on a machine of its own as far as files are concerned. */
export interface Cli {
  /** Its home directory: it holds the configuration and the state. */
  readonly home: string;
  /** The environment of its processes. */
  readonly environment: Record<string, string>;
  /** Runs `tiba …` until it ends. */
  run(args: readonly string[], stdin?: string): Promise<CliEnd>;
  /** Starts `tiba …`, which ends when the test says so. */
  start(args: readonly string[]): RunningCli;
  /** Ends what still runs and deletes the home directory. */
  remove(): Promise<void>;
}

export interface RunningCli {
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Resolves when standard output has the text. */
  untilPrinted(text: string): Promise<void>;
  /** Resolves when standard error has the text. */
  untilNoted(text: string): Promise<void>;
  /** Sends the signal; resolves with how it ended. */
  end(signal?: NodeJS.Signals): Promise<CliEnd>;
}

/** `program` is the command before the arguments: the sources with this Node unless given. */
export async function createCli(
  environment: Readonly<Record<string, string>> = {},
  program: readonly [command: string, ...args: string[]] = [process.execPath, MAIN],
): Promise<Cli> {
  const home = await mkdtemp(path.join(tmpdir(), 'tiba-cli-'));
  const running = new Set<ChildProcess>();
  const own: Record<string, string> = {
    HOME: home,
    XDG_CONFIG_HOME: path.join(home, 'config'),
    XDG_STATE_HOME: path.join(home, 'state'),
    TZ: 'Asia/Jakarta',
    ...environment,
  };

  function start(args: readonly string[], stdin = ''): RunningCli {
    const [command, ...before] = program;
    const child = spawn(command, [...before, ...args], { cwd: home, env: { ...INHERITED, ...own } });
    running.add(child);
    const closed = once(child, 'close').finally(() => running.delete(child));
    const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)];
    sendAll(child.stdin, stdin);
    const untilItHas = (text: string, output: () => string): Promise<void> =>
      eventually(`the output has "${text}"`, () => {
        if (child.exitCode !== null && !output().includes(text)) throw new Error(`it has ended: ${stderr()}`);
        return output().includes(text);
      });
    const end = async (): Promise<CliEnd> => {
      await closed;
      return { code: child.exitCode, stdout: stdout(), stderr: stderr() };
    };
    return {
      child,
      stdout,
      stderr,
      untilPrinted: (text) => untilItHas(text, stdout),
      untilNoted: (text) => untilItHas(text, stderr),
      end(signal) {
        if (signal !== undefined) child.kill(signal);
        return end();
      },
    };
  }

  return {
    home,
    environment: own,
    start,
    run: (args, stdin) => start(args, stdin).end(),
    async remove() {
      for (const child of running) child.kill('SIGKILL');
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** The environment of a login at the service: alpha unless given. */
export const loginOf = (service: TestService, client: TestClient = service.alpha): Record<string, string> => ({
  TIBA_URL: service.url,
  TIBA_CLIENT_ID: client.clientId,
  TIBA_CLIENT_SECRET: client.clientSecret,
});

/** The documents of standard output, one for each line. */
export const documentsOf = ({ stdout }: { readonly stdout: string }): Record<string, unknown>[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

function textOf(stream: NodeJS.ReadableStream): () => string {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    text += chunk;
  });
  return () => text;
}

function sendAll(stdin: Writable, text: string): void {
  // A program that reads nothing has closed it.
  stdin.on('error', () => undefined);
  stdin.end(text);
}
