import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { INHERITED } from '../support/suite-environment.ts';
import type { BankAnswer, FromService, ServiceAddress, ServiceSettings, ToService } from './messages.ts';

const PROGRAM = fileURLToPath(new URL('service-process.ts', import.meta.url));

/** The service in a child process that is killed and started again, always on the same database. */
export interface KillableService {
  /** Resolves with true when it is ready, with false when it was killed before. */
  start(): Promise<boolean>;
  /** kill -9. Resolves when the process has exited; at once when none is running. */
  kill(): Promise<void>;
  isRunning(): boolean;
  /** How often it was started: a token of one process is not valid for the next. */
  starts(): number;
  /** The address of the running process. */
  address(): ServiceAddress;
  /** Resolves when the process that runs, or was killed last, has exited. */
  ended(): Promise<void>;
  /** Makes it mark the transactions that are overdue at this time. */
  markOverdue(now: Date): Promise<void>;
  /**
   * Kills it and the process that waits to become the next one.
   * @throws Error when a process exited without being killed
   */
  close(): Promise<void>;
}

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  readonly address: ServiceAddress;
}

/** The bank's answer to a status inquiry about the transfer with this reference. */
type AnswerInquiry = (reference: string) => BankAnswer | Promise<BankAnswer>;

interface State {
  readonly directory: string;
  readonly answer: AnswerInquiry;
  /** Has loaded its modules, which takes most of a start, and waits for its settings. */
  next: ChildProcess;
  running: Running | undefined;
  starting: ChildProcess | undefined;
  lastKill: Promise<void>;
  starts: number;
  stderr: string;
  readonly unexpectedExits: string[];
}

const OVERDUE_BATCH = 500;
const STDERR_LENGTH_MAX = 4_000;

export async function createKillableService(
  settings: ServiceSettings,
  answer: AnswerInquiry,
): Promise<KillableService> {
  const state: Omit<State, 'next'> = {
    directory: await mkdtemp(path.join(tmpdir(), 'tiba-test-')),
    answer,
    running: undefined,
    starting: undefined,
    lastKill: Promise.resolve(),
    starts: 0,
    stderr: '',
    unexpectedExits: [],
  };
  const service: State = Object.assign(state, { next: spawnService(state) });
  return {
    start: () => start(service, settings),
    kill: () => kill(service),
    isRunning: () => service.running !== undefined,
    starts: () => service.starts,
    address: () => runningOf(service).address,
    async ended() {
      await (service.running?.ended ?? service.lastKill);
    },
    markOverdue: (now) => markOverdue(runningOf(service), now),
    close: () => close(service),
  };
}

function spawnService(state: Omit<State, 'next'>): ChildProcess {
  const compileCache = INHERITED.NODE_COMPILE_CACHE ?? path.join(state.directory, 'compiled');
  const child = fork(PROGRAM, {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { ...INHERITED, NODE_COMPILE_CACHE: compileCache },
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    state.stderr = (state.stderr + chunk.toString()).slice(-STDERR_LENGTH_MAX);
  });
  child.on('exit', (code, signal) => {
    if (state.running?.child === child) state.running = undefined;
    if (signal !== 'SIGKILL') state.unexpectedExits.push(`it exited with ${signal ?? code}; stderr:\n${state.stderr}`);
  });
  child.on('message', (message: FromService) => {
    if (message.kind === 'inquiry') void answerInquiry(child, message, state.answer);
  });
  return child;
}

async function answerInquiry(
  child: ChildProcess,
  { inquiry, reference }: Extract<FromService, { kind: 'inquiry' }>,
  answer: AnswerInquiry,
): Promise<void> {
  send(child, { kind: 'answer', inquiry, outcome: await answer(reference) });
}

function runningOf({ running }: State): Running {
  if (running === undefined) throw new Error('the service is not running');
  return running;
}

async function start(state: State, settings: ServiceSettings): Promise<boolean> {
  await state.lastKill;
  const child = state.next;
  const ended = once(child, 'exit');
  state.starting = child;
  state.starts += 1;
  state.next = spawnService(state);
  send(child, settings);
  const ready = nextMessage(child, 'ready');
  const first = await Promise.race([ready, ended.then(() => null)]);
  if (state.starting === child) state.starting = undefined;
  if (first === null || child.killed) return false;
  state.running = { child, ended, address: first.address };
  return true;
}

function kill(state: State): Promise<void> {
  const child = state.running?.child ?? state.starting;
  state.running = undefined;
  state.starting = undefined;
  if (child !== undefined) state.lastKill = killChild(child);
  return state.lastKill;
}

async function markOverdue({ child, ended }: Running, now: Date): Promise<void> {
  for (let count: number | null = OVERDUE_BATCH; count === OVERDUE_BATCH; ) {
    const marked = nextMessage(child, 'marked overdue');
    send(child, { kind: 'mark overdue', now: now.toISOString(), limit: OVERDUE_BATCH });
    count = (await Promise.race([marked, ended.then(() => ({ count: null }))])).count;
  }
}

async function close({ next, starting, running, lastKill, directory, unexpectedExits }: State): Promise<void> {
  const children = [next, starting, running?.child].filter((child) => child !== undefined);
  await Promise.all([lastKill, ...children.map(killChild)]);
  await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
  if (unexpectedExits.length > 0) {
    throw new Error(`the service exited without being killed:\n${unexpectedExits.join('\n')}`);
  }
}

async function killChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** Does nothing when the process has been killed. */
function send(child: ChildProcess, message: ToService | ServiceSettings): void {
  if (child.connected) child.send(message, () => {});
}

/** The next message of this kind; never resolves when the process exits before. */
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
