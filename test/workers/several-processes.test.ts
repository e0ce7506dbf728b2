import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import pino from 'pino';
import { hashSecret } from '../../apps/server/src/auth/secrets.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { HAND_OVER_INTERVAL_MS } from '../../apps/server/src/workers/counts-hand-over.ts';
import { createFastClient, type FastRequest } from '../contract/fast-client.ts';
import { processTreeOf, untilEnded } from '../sandbox/processes.ts';
import { writeProductionSettings } from '../sandbox/production-settings.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import type { Answer } from '../support/requests.ts';
import { type ServeProcess, startServe } from '../support/serve.ts';
import { timeLimitMs } from '../support/suite-environment.ts';

/**
 * `TIBA_PROCESSES`: a parent and its workers, as real processes, without Valkey (docs/contract.md 8.3). `PROCESSES=4`
 * runs it with four workers.
 */
const PROCESSES = Number(process.env['PROCESSES'] ?? 2);
const NUMBERS = Array.from({ length: PROCESSES }, (_each, index) => index + 1);

const SECRET = 'the secret of the test';
const STATUS = '/api/v1/check-status/NONE';
const ROUTE = '/api/v1/check-status/:transaction_id';
const CONNECTIONS = 16;
const LIMIT = 120;
/** Enough for processes to get leases, and few enough for the last ones to be decided without (workers/leases.ts). */
const LEASED_LIMIT = 2_200;

interface Machine extends ServeProcess {
  readonly database: TestDatabase;
  readonly railsFile: string;
  /** The log so far. Each line must be whole. */
  lines(): readonly Record<string, unknown>[];
  pids(): Promise<number[]>;
}

async function startMachine(): Promise<Machine> {
  const database = await createTestDatabase();
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-processes-'));
  // The bank is never inquired.
  const { TIBA_RAILS_FILE: railsFile = '' } = await writeProductionSettings(directory, 1);
  const served = await startServe({
    database,
    stdout: 'pipe',
    // A machine that is busy with tests delays every event loop.
    environment: {
      TIBA_PROCESSES: String(PROCESSES),
      TIBA_EVENT_LOOP_DELAY_MS: '0',
      TIBA_RAILS_FILE: railsFile,
      TIBA_FOUR_EYE: 'keys',
    },
  });
  // Parsed once, as they come: conditions look at all lines again and again.
  const logged: Record<string, unknown>[] = [];
  let rest = '';
  served.child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    const texts = (rest + chunk).split('\n');
    rest = texts.pop() ?? '';
    for (const text of texts) logged.push(JSON.parse(text));
  });
  const lines = (): readonly Record<string, unknown>[] => logged;
  await eventually('all processes are ready', () => has(lines(), 'all processes are ready'));
  return {
    ...served,
    database,
    railsFile,
    lines,
    pids: async () => (await processTreeOf(served.child.pid as number)).map(({ pid }) => pid).slice(1),
    async release() {
      await served.release();
      await database.drop();
      await rm(directory, { recursive: true });
    },
  };
}

const has = (lines: readonly Record<string, unknown>[], message: string): boolean =>
  lines.some(({ msg }) => msg === message);

let clients = 0;
/** A new client's access token. */
async function newClient(
  { url, database: { connection } }: Machine,
  limit: number,
  scopes: readonly string[] = ['status:read'],
): Promise<string> {
  const clientId = `client-${(clients += 1)}`;
  const database = openDatabase({ connection, connectionsMax: 1, log: pino({ level: 'silent' }) });
  await insertClient(database, {
    clientId,
    name: clientId,
    secretHash: hashSecret(SECRET),
    scopes,
    limits: { 'check-status': limit },
  });
  await database.close();
  let token = '';
  // Each process learns of the client by itself.
  await eventually('the client can log in', async () => {
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: SECRET };
    const { status, text } = await sendOnce(url, '/oauth/token', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
    });
    if (status === 200) token = (JSON.parse(text) as { access_token: string }).access_token;
    return status === 200;
  });
  return token;
}

interface Sent {
  readonly answers: Answer[];
  readonly failed: unknown[];
}

/** Sends status checks on connections that stay open, one on each at a time, until the condition is true. */
async function sendUntil(
  machine: Machine,
  token: string,
  until: (sent: Sent) => boolean | Promise<boolean>,
  connections = CONNECTIONS,
): Promise<Sent> {
  const client = createFastClient(machine.url, connections);
  const sent: Sent = { answers: [], failed: [] };
  const sendOne = (): Promise<unknown> =>
    client.send(STATUS, { headers: { authorization: `Bearer ${token}` } }).then(
      (answer) => sent.answers.push(answer),
      (error: unknown) => sent.failed.push(error),
    );
  try {
    await eventually(
      'enough is sent',
      async () => {
        await Promise.all(Array.from({ length: connections }, sendOne));
        return until(sent);
      },
      timeLimitMs(60_000),
    );
  } finally {
    await client.close();
  }
  return sent;
}

const remainingOf = ({ headers }: Answer): number => Number(/;r=(\d+);/.exec(headers.get('ratelimit') ?? '')?.[1]);

/** On a connection of its own: an idle one would be waited for when its process is replaced. */
async function sendOnce(url: string, target: string, request: FastRequest = {}): Promise<Answer> {
  const client = createFastClient(url, 1);
  try {
    return await client.send(target, request);
  } finally {
    await client.close();
  }
}

const metricsOf = async ({ operatorUrl }: Machine): Promise<string> => {
  const { status, text } = await sendOnce(operatorUrl, '/metrics');
  assert.equal(status, 200, text);
  return text;
};

const totalOf = (metrics: string, pattern: RegExp): number =>
  [...metrics.matchAll(pattern)].reduce((sum, [, value]) => sum + Number(value), 0);

const statusChecks = async (machine: Machine): Promise<number> =>
  totalOf(
    await metricsOf(machine),
    new RegExp(`^tiba_http_requests_total\\{route="${ROUTE}",status="\\d+"\\} (\\d+)$`, 'gm'),
  );

const decidedAlone = async (machine: Machine): Promise<number> =>
  totalOf(await metricsOf(machine), /^tiba_limit_decisions_alone_total\{limiter="requests"\} (\d+)$/gm);

/** On a busy machine the parent may be late just now, which readiness says, and then each process decides by itself. */
const untilParentDecides = ({ operatorUrl }: Machine): Promise<void> =>
  eventually('the parent decides', async () =>
    (await sendOnce(operatorUrl, '/readyz')).text.includes('"shared_limits":"ok"'),
  );

/**
 * On a machine that is busy with tests the parent may answer later than after 50 ms; then each process decides by
 * itself, which is right but not exact. Such an attempt proves nothing, and another client tries again.
 */
async function assertExact(machine: Machine, limit = LIMIT): Promise<number> {
  let sentInAll = 0;
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const token = await newClient(machine, limit);
    const before = await decidedAlone(machine);
    const { answers, failed } = await sendUntil(
      machine,
      token,
      (sent) => sent.answers.length >= Math.max(limit + 100, 1_000),
    );
    sentInAll += answers.length;
    assert.deepEqual(failed, []);
    if ((await decidedAlone(machine)) > before) continue;
    const admitted = answers.filter(({ status }) => status !== 429);
    assert.equal(admitted.length, limit);
    const remaining = admitted.map(remainingOf).toSorted((one, other) => one - other);
    if (limit === LIMIT)
      assert.deepEqual(remaining, [...Array(limit).keys()], 'each admitted request is told another remainder');
    return sentInAll;
  }
  throw new Error('the parent was away in each attempt');
}

describe('several processes behind one port', () => {
  let machine: Machine;
  let sentInAll = 0;
  before(async () => {
    machine = await startMachine();
  });
  after(() => machine?.release());

  test('admit exactly the limit of one client together', async () => {
    sentInAll += await assertExact(machine);
    await untilParentDecides(machine);
  });

  test('admit exactly the limit of a busy client, of which each admits a part by itself', async () => {
    sentInAll += await assertExact(machine, LEASED_LIMIT);
  });

  test('are one set of metrics, whose totals are what was sent', async () => {
    assert.equal(await statusChecks(machine), sentInAll);
    const metrics = await metricsOf(machine);
    for (const process of [0, ...NUMBERS])
      assert.match(metrics, new RegExp(`^process_resident_memory_bytes\\{process="${process}"\\} \\d+`, 'm'));
    assert.match(metrics, new RegExp(`^tiba_live_processes ${PROCESSES}$`, 'm'));
    assert.match(metrics, /^tiba_ready 1$/m);
    assert.equal(metrics.match(/^# TYPE tiba_http_requests_total /gm)?.length, 1);
  });

  /** Regression: it was the worker that answers: a console behind a proxy could hardly ever compare two answers. */
  test('answer with one overview, whose source is the parent', async () => {
    const authorization = `Bearer ${await newClient(machine, LIMIT, ['operator:read'])}`;
    const sources = new Set<string>();
    // Each connection goes to the next process.
    for (let time = 0; time < 2 * PROCESSES; time += 1) {
      const { text } = await sendOnce(machine.operatorUrl, '/operator/v1/overview', { headers: { authorization } });
      sources.add((JSON.parse(text) as { data: { source: string } }).data.source);
    }
    assert.equal(sources.size, 1);
  });

  test('are one log, in which each line is whole and has its process', async () => {
    await eventually('all have answered', () => {
      const answered = machine.lines().filter(({ route }) => route === ROUTE);
      return NUMBERS.every((number) => answered.some(({ process }) => process === number));
    });
    assert.ok(machine.lines().every(({ process }) => [0, ...NUMBERS].includes(Number(process))));
    const unknown = machine.lines().filter(({ msg }) => msg === 'variables that are no settings are ignored');
    assert.equal(unknown.length, 1, 'the parent warns once for all');
  });

  test('stay as they are on SIGHUP while the rails file is faulty, and the log says why', async () => {
    const before = await machine.pids();
    const content = await readFile(machine.railsFile, 'utf8');
    await writeFile(machine.railsFile, content.replace('"protocol":"snap"', '"protocol":"smoke signals"'));
    machine.child.kill('SIGHUP');
    const refused = () => machine.lines().find(({ msg }) => String(msg).startsWith('restart refused'));
    await eventually('the restart is refused', () => refused() !== undefined);
    assert.match(String(refused()?.['faults']), /protocol/);
    assert.deepEqual(await machine.pids(), before);
    await writeFile(machine.railsFile, content);
  });

  test('are replaced one after the other on SIGHUP, and no request fails', async () => {
    const before = await machine.pids();
    const token = await newClient(machine, 1_000_000);
    machine.child.kill('SIGHUP');
    const { answers, failed } = await sendUntil(machine, token, () =>
      has(machine.lines(), 'all processes are restarted'),
    );
    assert.deepEqual(failed, []);
    assert.ok(answers.length > 0 && answers.every(({ status }) => status === 404));
    const pids = await machine.pids();
    assert.equal(pids.length, PROCESSES);
    assert.ok(pids.every((pid) => !before.includes(pid)));
    sentInAll += answers.length;
    assert.equal(await statusChecks(machine), sentInAll, 'what the former processes counted is not lost');
  });

  test('go on when one is killed: only requests on its connections fail, and another takes its place', async () => {
    const token = await newClient(machine, 1_000_000);
    const [victim = 0] = await machine.pids();
    let answered = 0;
    const { answers, failed } = await sendUntil(machine, token, async (sent) => {
      if (answered === 0 && sent.answers.length > 200) {
        answered = sent.answers.length;
        process.kill(victim, 'SIGKILL');
      }
      const pids = await machine.pids();
      const isReplaced = answered > 0 && !pids.includes(victim) && pids.length === PROCESSES;
      return isReplaced && sent.answers.length > answered + 500;
    });
    assert.ok(failed.length <= CONNECTIONS, `${failed.length} failed`);
    assert.ok(answers.every(({ status }) => status === 404));
    assert.ok(has(machine.lines(), 'worker process ended by itself; starting another'));
  });

  /** Regression: what they had counted since the last scrape was lost, and so was everything where there was none. */
  test('leave what they have counted when they are killed', async () => {
    const before = await statusChecks(machine);
    const token = await newClient(machine, 1_000_000);
    const deadlineMs = performance.now() + timeLimitMs(HAND_OVER_INTERVAL_MS + 2_000);
    const { answers } = await sendUntil(machine, token, (sent) => sent.answers.length >= 1_000);
    // Few are enough for them to stay at work until what those left is handed over.
    await sendUntil(machine, token, () => performance.now() > deadlineMs, 1);
    const ready = (): number => machine.lines().filter(({ msg }) => msg === 'ready').length;
    const readyBefore = ready();
    for (const pid of await machine.pids()) process.kill(pid, 'SIGKILL');
    const replaced = (): boolean => ready() >= readyBefore + PROCESSES;
    await eventually('others have taken their places', replaced, timeLimitMs(60_000));
    const left = (await statusChecks(machine)) - before;
    assert.ok(left >= answers.length, `${left} of ${answers.length}`);
  });

  test('answer with their shares while the parent is frozen, and count together again afterwards', async (t) => {
    const token = await newClient(machine, LIMIT);
    const client = createFastClient(machine.url, CONNECTIONS);
    t.after(() => client.close());
    const ask = (authorization: string): Promise<Answer[]> =>
      Promise.all(Array.from({ length: CONNECTIONS }, () => client.send(STATUS, { headers: { authorization } })));
    const admitted: Answer[] = [];
    const count = async (): Promise<void> => {
      admitted.push(...(await ask(`Bearer ${token}`)).filter(({ status }) => status !== 429));
    };
    // New connections wait for the parent; those that are open do not.
    await ask('none');
    machine.child.kill('SIGSTOP');
    try {
      for (let time = 0; time < 20; time += 1) await count();
    } finally {
      machine.child.kill('SIGCONT');
    }
    assert.ok(admitted.length > 0 && admitted.length <= LIMIT, `${admitted.length} admitted`);
    await untilParentDecides(machine);
    for (let time = 0; time < 20; time += 1) await count();
    assert.ok(
      admitted.length <= LIMIT + PROCESSES * Math.ceil(LIMIT / PROCESSES),
      `${admitted.length} admitted: the limit and a share of each process`,
    );
    await eventually('nothing more is admitted', async () =>
      (await ask(`Bearer ${token}`)).every(({ status }) => status === 429),
    );
  });

  test('stop completely on SIGTERM, with exit code 0', async () => {
    const tree = await processTreeOf(machine.child.pid as number);
    const { code, tookMs } = await machine.terminate();
    assert.equal(code, 0);
    assert.ok(tookMs < timeLimitMs(15_000));
    await untilEnded(tree);
    assert.ok(has(machine.lines(), 'stopping all processes'));
    // Regression: nothing said that the processes had stopped in good order.
    const stopped = (): number[] =>
      machine
        .lines()
        .filter(({ msg }) => msg === 'stopped')
        .map((line) => Number(line['process']));
    await eventually('the parent says that it has stopped', () => stopped().at(-1) === 0);
    assert.deepEqual(
      stopped()
        .slice(-NUMBERS.length - 1, -1)
        .toSorted((one, other) => one - other),
      NUMBERS,
      'and before it each worker',
    );
    assert.equal(machine.lines().at(-1)?.['msg'], 'stopped');
  });
});
