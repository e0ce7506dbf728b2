import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { INHERITED } from '../support/suite-environment.ts';
import type { BankAnswer, FromService, ServiceAddress, ServiceSettings, ToService } from './messages.ts';

const PROGRAM = fileURLToPath(new URL('service-process.ts', import.meta.url));

/** The service in a process that is killed and started again, always on the same database. */
export interface KillableService {
  /** Resolves when it answers, with true; with false when it was killed before that. */
  start(): Promise<boolean>;
  /** kill -9: from now on nothing runs. Resolves when the process is gone; at once when there is none. */
  kill(): Promise<void>;
  isRunning(): boolean;
  /** How often it was started: what was learnt from one process does not hold for the next. */
  starts(): number;
  /** Of the process that runs. */
  address(): ServiceAddress;
  /** Resolves when the process that runs, or was killed last, is gone. */
  ended(): Promise<void>;
  /** Lets it look for what is overdue at this moment. */
  markOverdue(now: Date): Promise<void>;
  /** Kills it and what waits to become the next one. @throws Error when it ended once without being killed. */
  close(): Promise<void>;
}

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  readonly address: ServiceAddress;
}

const OBSERVED_AT_ONCE = 500;
const COMPLAINTS_LENGTH_MAX = 4_000;

/** `answer` is what the bank says to a question about the transfer of this reference. */
export async function createKillableService(
  settings: ServiceSettings,
  answer: (reference: string) => BankAnswer | Promise<BankAnswer>,
): Promise<KillableService> {
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-test-'));
  /** Has loaded its modules, which takes most of a start, and waits to be told its settings. */
  let next = spawn();
  let running: Running | undefined;
  let starting: ChildProcess | undefined;
  let dying = Promise.resolve();
  let starts = 0;
  let complaints = '';
  const unexpected: string[] = [];

  function spawn(): ChildProcess {
    const child = fork(PROGRAM, {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...INHERITED, NODE_COMPILE_CACHE: INHERITED.NODE_COMPILE_CACHE ?? path.join(directory, 'compiled') },
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      complaints = (complaints + chunk.toString()).slice(-COMPLAINTS_LENGTH_MAX);
    });
    child.on('exit', (code, signal) => {
      if (running?.child === child) running = undefined;
      if (signal !== 'SIGKILL') unexpected.push(`it ended with ${signal ?? code}; it had said:\n${complaints}`);
    });
    child.on('message', (message: FromService) => {
      if (message.kind === 'question') void answerTo(child, message.question, message.reference);
    });
    return child;
  }

  async function answerTo(child: ChildProcess, question: number, reference: string): Promise<void> {
    send(child, { kind: 'answer', question, outcome: await answer(reference) });
  }

  const current = (): Running => {
    if (running === undefined) throw new Error('the service does not run');
    return running;
  };

  return {
    async start() {
      await dying;
      const child = next;
      const ended = once(child, 'exit');
      starting = child;
      starts += 1;
      next = spawn();
      send(child, settings);
      const ready = nextMessage(child, 'ready');
      const first = await Promise.race([ready, ended.then(() => null)]);
      if (starting === child) starting = undefined;
      if (first === null || child.killed) return false;
      running = { child, ended, address: first.address };
      return true;
    },
    kill() {
      const child = running?.child ?? starting;
      running = undefined;
      starting = undefined;
      if (child !== undefined) dying = killed(child);
      return dying;
    },
    isRunning: () => running !== undefined,
    starts: () => starts,
    address: () => current().address,
    async ended() {
      await (running?.ended ?? dying);
    },
    async markOverdue(now) {
      const { child, ended } = current();
      for (let count: number | null = OBSERVED_AT_ONCE; count === OBSERVED_AT_ONCE; ) {
        const observed = nextMessage(child, 'observed');
        send(child, { kind: 'observe time', now: now.toISOString(), limit: OBSERVED_AT_ONCE });
        count = (await Promise.race([observed, ended.then(() => ({ count: null }))])).count;
      }
    },
    async close() {
      const children = [next, starting, running?.child].filter((child) => child !== undefined);
      await Promise.all([dying, ...children.map(killed)]);
      await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
      if (unexpected.length > 0) throw new Error(`the service ended without being killed:\n${unexpected.join('\n')}`);
    },
  };
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** What a killed process is not told any more, nobody misses. */
function send(child: ChildProcess, message: ToService | ServiceSettings): void {
  if (child.connected) child.send(message, () => {});
}

/** The next message of this kind; never resolves when the process ends before. */
function nextMessage<Kind extends FromService['kind']>(
  child: ChildProcess,
  kind: Kind,
): Promise<Extract<FromService, { kind: Kind }>> {
  return new Promise((resolve) => {
    const listen = (message: FromService): void => {
      if (message.kind !== kind) return;
      child.off('message', listen);
      resolve(message as Extract<FromService, { kind: Kind }>);
    };
    child.on('message', listen);
  });
}
