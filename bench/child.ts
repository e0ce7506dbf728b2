import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Cores, onServerCore } from './cores.ts';

/** A process of `processes/` that has reported that it is ready. */
export interface Child<Address> {
  readonly pid: number;
  /** Its report: its URLs and the like. */
  readonly address: Address;
  /** Resolves when it has ended by itself. @throws Error when it had to be killed, or its exit code was not 0. */
  stop(): Promise<void>;
}

export interface ChildOptions {
  /** The file's name in `processes/`. */
  readonly file: string;
  /** Sent to it when it starts; see `as-child.ts`. */
  readonly settings: unknown;
  /** For the server under test; null for any other process, which stays on this process's core. */
  readonly cores: Cores | null;
  readonly nodeOptions?: readonly string[];
  /**
   * Temporary. Children that share it start in half the time: the first stores its compiled modules there
   * (as-child.ts), unless the environment names another place for them.
   */
  readonly directory: string;
}

type Exit = [code: number | null, signal: NodeJS.Signals | null];

const READY_TIMEOUT_MS = 30_000;
/** A service waits up to ten seconds for requests in flight (`app/`), and then closes what they used. */
const STOP_TIMEOUT_MS = 60_000;

export async function startChild<Address>(options: ChildOptions): Promise<Child<Address>> {
  const { file, settings, cores, nodeOptions = [], directory } = options;
  const module = fileURLToPath(new URL(`processes/${file}`, import.meta.url));
  const [command, args] = onServerCore(cores, process.execPath, [...nodeOptions, module]);
  const child = spawn(command, args, {
    // Its own process group: Ctrl-C in the terminal must not end it before its parent does.
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { NODE_COMPILE_CACHE: path.join(directory, 'compiled'), ...process.env },
  });
  const exited = once(child, 'exit') as Promise<Exit>;
  // `stop` reports a failure. Before that, it must not count as an unhandled rejection.
  exited.catch(() => {});
  try {
    await once(child, 'spawn');
    child.send(settings as object);
    const ready = once(child, 'message', { signal: AbortSignal.timeout(READY_TIMEOUT_MS) });
    const [address] = await Promise.race([ready, exited.then(([code]) => fail(`${file} ended with code ${code}`))]);
    return { pid: child.pid as number, address: address as Address, stop: () => stop(file, child, exited) };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

/** A child ends when its parent disconnects, on purpose or because it was killed. */
async function stop(file: string, child: ChildProcess, exited: Promise<Exit>): Promise<void> {
  if (child.connected) child.disconnect();
  const killing = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  const [code, signal] = await exited;
  clearTimeout(killing);
  if (code !== 0) fail(`${file} ended with ${signal ?? `code ${code}`}`);
}

function fail(message: string): never {
  throw new Error(message);
}
