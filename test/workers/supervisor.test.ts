import assert from 'node:assert/strict';
import cluster from 'node:cluster';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Writable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pino from 'pino';
import { within } from '../../apps/server/src/lib/within.ts';
import { type Supervisor, type SupervisorOptions, startSupervisor } from '../../apps/server/src/workers/supervisor.ts';
import { eventually } from '../support/eventually.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import type { Step } from './scripted-process.ts';

interface Supervised {
  readonly supervisor: Supervisor;
  readonly directory: string;
  /** The lines of the parent's log with this message. */
  logged(message: string): Record<string, unknown>[];
  /** The workers that were started so far, in order. */
  startedPids(): number[];
}

/** A supervisor of one worker. What each of its starts does, `steps` say. */
async function supervise(
  t: TestContext,
  steps: readonly Step[],
  { onLines, ...options }: Partial<SupervisorOptions> & { onLines?: (lines: string) => void } = {},
): Promise<Supervised> {
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-supervisor-'));
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    new Writable({
      write(chunk, _encoding, done) {
        lines.push(JSON.parse(String(chunk)));
        done();
      },
    }),
  );
  const logged = (message: string) => lines.filter(({ msg }) => msg === message);
  const supervisor = await startSupervisor({
    count: 1,
    embeddedPostgres: null,
    stopTimeoutMs: 1_000,
    logging: {
      log,
      forward(lines, onBuffered) {
        onLines?.(lines);
        onBuffered();
      },
    },
    stopping: new Promise(() => {}),
    program: {
      file: fileURLToPath(new URL('scripted-process.ts', import.meta.url)),
      args: [path.join(directory, 'starts'), ...steps],
    },
    ...options,
  });
  t.after(async () => {
    await supervisor.stop();
    await rm(directory, { recursive: true });
  });
  return {
    supervisor,
    directory,
    logged,
    startedPids: () => logged('worker process started').map(({ pid }) => Number(pid)),
  };
}

const ENDED = 'worker process ended by itself; starting another';
const KILLED = 'worker process that did not answer was killed; starting another';

test('a parent whose workers end as soon as they start tries again, later each time, and gives up', async (t) => {
  const { supervisor, logged } = await supervise(t, ['end']);
  await assert.rejects(supervisor.failed, { name: 'StartError', message: /end as soon as they start/ });
  await supervisor.stop();
  const started = logged('worker process started');
  assert.equal(started.length, 5);
  const [first = Number.NaN, second = Number.NaN] = started.map(({ time }) => Number(time)).slice(-2);
  assert.ok(second - first >= 3_900, 'the last pause is the longest');
  const ended = logged(ENDED);
  assert.equal(ended.length, 5);
  assert.ok(ended.every(({ reason, worker }) => reason === 3 && worker === 1));
});

test('a worker that ended is replaced when the new one of a restart fails', async (t) => {
  const { supervisor, logged, startedPids } = await supervise(t, ['end', 'end', 'wait', 'serve']);
  await eventually('the pause after the second end has begun', () => logged(ENDED).length === 2);
  const restarted = supervisor.restart();
  await eventually('another worker is started after the pause', () => startedPids().length === 4);
  process.kill(startedPids()[2] as number, 'SIGKILL');
  assert.equal(await restarted, false);
  assert.equal(await supervisor.restart(), true, 'the next restart replaces it');
  assert.equal(startedPids().length, 5);
  assert.equal(logged(ENDED).length, 2);
});

test('a parent that cannot answer a question says so and goes on', async (t) => {
  const { logged } = await supervise(t, ['ask']);
  const [line] = logged('a question of a worker process was not answered; it goes on without the answer');
  assert.equal(line?.['question'], 'run');
});

test('a parent goes on while the system does not start processes', async (t) => {
  const { supervisor, logged, startedPids } = await supervise(t, ['serve']);
  const { args = [] } = cluster.settings;
  // The system refuses an argument of this length (E2BIG), as it refuses a process when it has no memory.
  cluster.setupPrimary({ args: ['a'.repeat(1_000_000)] });
  assert.equal(await supervisor.restart(), false);
  assert.equal(
    logged('restart stopped: the system did not start a process; the others stay; send SIGHUP to try again').length,
    1,
  );
  process.kill(startedPids()[0] as number, 'SIGKILL');
  await eventually(
    'it cannot be replaced',
    () => logged('the system did not start a worker process; will retry').length > 0,
  );
  cluster.setupPrimary({ args });
  await eventually('it is replaced', () => startedPids().length === 2);
  assert.equal(await supervisor.restart(), true);
});

test('a worker that is still starting ends when it is told to', async (t) => {
  let written = '';
  const { supervisor, directory } = await supervise(t, ['serve', 'late'], {
    stopTimeoutMs: 60_000,
    onLines: (lines) => void (written += lines),
  });
  const restarted = supervisor.restart();
  await eventually('the new worker starts', () => written.includes('late'));
  const stopped = supervisor.stop();
  await writeFile(path.join(directory, 'starts.go'), '');
  await stopped;
  assert.equal(await restarted, false);
  assert.equal(written.split('stop').length - 1, 2, 'a worker was killed');
});

test('a worker that hangs is killed and replaced; one that answers is not', async (t) => {
  let pings = 0;
  const { supervisor, logged, startedPids } = await supervise(t, ['hang', 'serve'], {
    answerTimeoutMs: 1_000,
    onLines: (lines) => void (pings += lines.split('\n').length - 1),
  });
  await eventually('another worker is started', () => startedPids().length === 2);
  const [killed] = logged('worker process does not answer; killing it');
  assert.equal(killed?.['pid'], startedPids()[0]);
  assert.deepEqual(
    logged(KILLED).map(({ reason }) => reason),
    ['SIGKILL'],
  );
  pings = 0;
  await eventually('the new worker has lived for longer than the time limit', () => pings >= 8);
  assert.equal(logged(KILLED).length, 1);
  assert.equal(await supervisor.restart(), true);
  // Regression: it was said to have ended by itself.
  assert.equal(logged(ENDED).length, 0);
});

/** Regression: it stayed open, and its client waited until it gave up. Each kill of a busy worker left one. */
test('a connection that a worker has not taken when it is killed is closed', async (t) => {
  let written = '';
  const { startedPids } = await supervise(t, ['listen', 'serve'], { onLines: (lines) => void (written += lines) });
  const port = (): number => Number(/^\d+$/m.exec(written)?.[0]);
  await eventually('the worker says its port', () => port() > 0);
  const [worker = 0] = startedPids();
  process.kill(worker, 'SIGSTOP');
  const socket = connect(port(), '127.0.0.1').resume();
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  // The parent, which is this process, accepts the connection and gives it to the worker.
  for (let turn = 0; turn < 3; turn += 1) await setImmediate();
  // A reset is one way to close it.
  const closed = new Promise((resolve) => socket.on('error', () => {}).once('close', resolve));
  process.kill(worker, 'SIGKILL');
  assert.notEqual(await within(closed, timeLimitMs(10_000), 'open'), 'open');
});
