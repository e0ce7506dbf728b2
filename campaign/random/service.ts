import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { INHERITED } from '../../test/support/suite-environment.ts';
import type { Canaries } from './canaries.ts';
import type { CampaignRecord } from './record.ts';
import { judgeLog } from './service-log.ts';

const MAIN = fileURLToPath(new URL('../../apps/server/src/main.ts', import.meta.url));
const POLL_MS = 20;
/** The service promises 10 s; a busy machine gets more. */
const STOP_MS_MAX = 30_000;
const STDERR_MAX = 4_000;
const GROUP_MS_MAX = 15_000;
const GROUP_POLL_MS = 200;

/** One process of the service, `serve` as in production. It is started again whenever it has ended. */
export interface ServiceProcess {
  readonly name: string;
  readonly url: string;
  readonly operatorUrl: string;
  /** Counts the starts: what is exact per process is exact per start. */
  starts(): number;
  /** It listens, and is not about to stop. */
  isUp(): boolean;
  /** SIGKILL. Does nothing while no process runs. */
  kill(): void;
  /** SIGTERM: the process must end with exit code 0. */
  terminate(): void;
  /** Leaves its standard output unread. */
  holdLog(): void;
  readLog(): void;
  /** KiB; null while no process runs. */
  residentMemory(): Promise<number | null>;
  /** Ends it with SIGTERM and starts it no more. */
  stop(): Promise<void>;
}

export interface ServiceOptions {
  readonly name: string;
  readonly port: number;
  readonly operatorPort: number;
  readonly settings: Readonly<Record<string, string>>;
  readonly record: CampaignRecord;
  readonly canaries: Canaries;
  /** Called when it says that it decides on limits without Valkey. */
  readonly onLimitsAlone: () => void;
  /** The program of the next start: another release. By default this one. */
  readonly main?: () => string;
  /** How many disturbances of PostgreSQL have begun and ended so far, so odd during one: a start meanwhile may fail. */
  readonly disturbances: () => number;
}

interface Run {
  readonly child: ChildProcess;
  readonly disturbancesBefore: number;
  readonly stderr: () => string;
  listens: boolean;
  killed: boolean;
  terminatedMs: number | null;
  /** As `disturbancesBefore`, at the time of SIGTERM. */
  disturbancesAtStop: number | null;
}

export function startService(options: ServiceOptions): ServiceProcess {
  const { name, port, operatorPort, record } = options;
  const operatorUrl = `http://127.0.0.1:${operatorPort}`;
  let starts = 0;
  const stopping = new AbortController();
  let current: Run | null = null;
  const groups: Promise<void>[] = [];

  async function supervise(): Promise<void> {
    while (!stopping.signal.aborted) {
      starts += 1;
      const run = start(options);
      current = run;
      const exited = once(run.child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
      void untilListening(operatorUrl, run);
      const [code, signal] = await exited;
      current = null;
      judgeEnd(run, code, signal, options);
      groups.push(judgeGroup(run, options));
    }
  }
  const supervised = supervise();

  const terminate = (): void => {
    if (current === null || current.terminatedMs !== null) return;
    current.terminatedMs = performance.now();
    current.disturbancesAtStop = options.disturbances();
    const { child } = current;
    child.stdout?.resume();
    child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX).unref();
  };

  return {
    name,
    url: `http://127.0.0.1:${port}`,
    operatorUrl,
    starts: () => starts,
    isUp: () => current !== null && current.listens && !current.killed && current.terminatedMs === null,
    kill() {
      if (current === null || current.killed) return;
      current.killed = true;
      current.child.kill('SIGKILL');
      record.count('kills of the service');
    },
    terminate() {
      if (current !== null) record.count('stops of the service');
      terminate();
    },
    holdLog: () => void current?.child.stdout?.pause(),
    readLog: () => void current?.child.stdout?.resume(),
    residentMemory: () => readMemory(current?.child.pid),
    async stop() {
      stopping.abort();
      terminate();
      await supervised;
      await Promise.all(groups);
    },
  };
}

function start(options: ServiceOptions): Run {
  const { name, port, operatorPort, settings, record, canaries, disturbances, main = () => MAIN } = options;
  const child = spawn(process.execPath, [main(), 'serve'], {
    // A process group of its own, so that what it leaves behind is found.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...INHERITED, ...settings, TIBA_PORT: String(port), TIBA_OPERATOR_PORT: String(operatorPort) },
  });
  const killWithCampaign = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithCampaign);
  child.once('exit', () => process.off('exit', killWithCampaign));
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr = (stderr + chunk).slice(-STDERR_MAX)));
  const run: Run = {
    child,
    stderr: () => stderr,
    disturbancesBefore: disturbances(),
    listens: false,
    killed: false,
    terminatedMs: null,
    disturbancesAtStop: null,
  };
  const mayLoseAuditRecords = (): boolean => isDisturbedSince(run.disturbancesAtStop, disturbances());
  judgeLog(child.stdout, { name, record, canaries, mayLoseAuditRecords, onLimitsAlone: options.onLimitsAlone });
  return run;
}

const isDisturbedSince = (before: number | null, now: number): boolean =>
  before !== null && (now > before || before % 2 === 1);

async function untilListening(operatorUrl: string, run: Run): Promise<void> {
  while (run.child.exitCode === null && run.child.signalCode === null) {
    const answer = await fetch(`${operatorUrl}/livez`).catch(() => null);
    await answer?.body?.cancel();
    if (answer?.status === 200) {
      run.listens = true;
      return;
    }
    await delay(POLL_MS);
  }
}

const mayFailToStart = ({ listens, disturbancesBefore }: Run, disturbances: number): boolean =>
  !listens && isDisturbedSince(disturbancesBefore, disturbances);

/** Whether it ended as it should have. */
function judgeEnd(run: Run, code: number | null, signal: NodeJS.Signals | null, options: ServiceOptions): void {
  const { record, canaries, name, disturbances } = options;
  const stderr = run.stderr();
  const canary = canaries.find(stderr);
  if (canary !== null) record.wrong('the error output holds a number, name or secret', `${name}: ${canary}`);
  if (run.killed) return;
  const end = `${name} ended with ${signal ?? `code ${code}`}: ${stderr}`;
  if (run.terminatedMs !== null) {
    record.most('longest stop, ms', Math.round(performance.now() - run.terminatedMs));
    // Before it listens for signals, SIGTERM ends it as any other program.
    const isEarly = !run.listens && signal === 'SIGTERM';
    const mayFail = mayFailToStart(run, disturbances());
    if (code !== 0 && !isEarly && !mayFail) record.wrong('SIGTERM does not end the service with code 0', end);
    return;
  }
  const mayFail = mayFailToStart(run, disturbances());
  if (mayFail && code === 1) record.count('starts without PostgreSQL');
  else record.wrong('the service ends by itself', end);
}

/** What it started must end with it, also when it is killed: a reader of an upload notices its end within a moment. */
async function judgeGroup({ child }: Run, { record, name }: ServiceOptions): Promise<void> {
  const deadlineMs = performance.now() + GROUP_MS_MAX;
  let left = await processGroup(child.pid);
  while (left.length > 0 && performance.now() < deadlineMs) {
    await delay(GROUP_POLL_MS);
    left = await processGroup(child.pid);
  }
  if (left.length > 0) record.wrong('a process is left', `of ${name}: ${left.join(' ')}`);
  for (const pid of left) process.kill(pid, 'SIGKILL');
}

// proc(5), "stat": pid, name in parentheses, state, parent, process group. A name may contain any character.
const STAT = /^(\d+) \(.*\) (\S) \d+ (\d+) /s;

/** The running processes of a group. Linux only; empty elsewhere. */
async function processGroup(group: number | undefined): Promise<number[]> {
  const pids = await readdir('/proc').catch(() => []);
  const stats = await Promise.all(
    pids.filter((each) => /^\d+$/.test(each)).map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')),
  );
  return stats.flatMap((stat) => {
    const [, pid, state = '', of] = STAT.exec(stat) ?? [];
    return Number(of) === group && !'ZX'.includes(state) ? [Number(pid)] : [];
  });
}

async function readMemory(pid: number | undefined): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kib = /^VmRSS:\s*(\d+)/m.exec(status)?.[1];
  return kib === undefined ? null : Number(kib);
}
