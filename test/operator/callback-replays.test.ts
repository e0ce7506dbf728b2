import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { claimDeliveries } from '../../apps/server/src/postgres/callback-deliveries.ts';
import { advanceReplay } from '../../apps/server/src/postgres/callback-replays.ts';
import { listEvents } from '../../apps/server/src/postgres/events.ts';
import { feedSuccesses, openSql, register } from '../callbacks/endpoints-harness.ts';
import { assertError, assertSuccess } from '../contract/assertions.ts';
import { eventually } from '../support/eventually.ts';
import { type HttpReceiver, startHttpReceiver } from '../support/http-receiver.ts';
import { type Answer, CLIENT_SCOPES, startTestService, type TestService } from '../support/service.ts';
import { addMachine, type Machine } from './machine.ts';

/** An operator sends many callbacks of a client again. */

const PATH = 'callback-replays';
const ALWAYS = { from: '2020-01-01T00:00:00Z', to: '2099-01-01T00:00:00Z' };
const REASON = { reason: 'Ticket 4711: they lost a day' };

let service: TestService;
let receiver: HttpReceiver;
let sql: Awaited<ReturnType<typeof openSql>>;
const machines: Record<string, Machine> = {};

before(async () => {
  receiver = await startHttpReceiver();
  service = await startTestService({ rails: [] });
  sql = await openSql(service);
  for (const [clientId, scopes] of [
    ['viewer', ['operator:read']],
    ['engineer', ['operator:read', 'operator:write']],
  ] as const) {
    machines[clientId] = await addMachine(service, clientId, scopes);
  }
});
after(async () => {
  await sql?.end();
  await service?.close();
  await receiver?.close();
});

const as = (who: string): Machine => machines[who] ?? assert.fail(who);

const order = (body: Record<string, unknown>, key: string | null = null, who = 'engineer'): Promise<Answer> =>
  as(who).act('POST', PATH, body, key === null ? {} : { 'idempotency-key': key });

const read = (path: string): Promise<Answer> => as('viewer').get(PATH + path);

const cancel = (replayId: string): Promise<Answer> => as('engineer').act('POST', `${PATH}/${replayId}/cancel`, REASON);

interface Replay {
  readonly replay_id: string;
  readonly state: string;
  readonly created_by: string;
  readonly endpoints: readonly {
    readonly endpoint_id: string;
    readonly outcome: string | null;
    readonly examined: number;
    readonly replayed: number;
    readonly progress: number;
  }[];
}

async function start(body: Record<string, unknown>, key: string): Promise<Replay> {
  const data = assertSuccess(await order({ ...REASON, ...body }, key));
  assert.deepEqual([data['dry_run'], data['count']], [false, null]);
  return data['replay'] as Replay;
}

async function untilEnded({ replay_id: id }: Replay): Promise<Replay> {
  let found: Replay | undefined;
  await eventually('the replay has ended', async () => {
    found = assertSuccess(await read(`/${id}`)) as unknown as Replay;
    return found.state !== 'RUNNING';
  });
  return found ?? assert.fail();
}

const replayActions = (): Promise<Record<string, unknown>[]> =>
  sql(
    `select action, client_id, subject_id, reason, after from tiba.operator_actions
      where action like 'callback replay%' order by sequence`,
  );

const received = (path: string): number => receiver.requests.filter((request) => request.path === path).length;

test('a dry run counts, a replay sends; repeated with its key it is the same replay', async () => {
  const endpoints = [];
  for (const path of ['/one', '/two']) endpoints.push(await register(service, { url: receiver.url + path }));
  await feedSuccesses(service, 5);
  const untilReceived = (count: number): Promise<void> =>
    eventually(`${count} at each endpoint, all recorded`, async () => {
      const left = await sql("select from tiba.callback_deliveries where client_id = 'alpha' and state = 'pending'");
      return received('/one') === count && received('/two') === count && left.length === 0;
    });
  await untilReceived(5);

  const counted = assertSuccess(await order({ client_id: 'alpha', ...ALWAYS, dry_run: true }));
  const count = { events: 5, transactions: 5, endpoints: 2, deliveries: 10, is_complete: true };
  assert.deepEqual(counted, { dry_run: true, count, replay: null });
  const endpointId = endpoints[0]?.endpointId ?? '';
  const some = { client_id: 'alpha', endpoint_id: endpointId, first_sequence: 2, last_sequence: 3 };
  const ofSome = assertSuccess(await order({ ...some, dry_run: true }))['count'] as Record<string, unknown>;
  assert.deepEqual([ofSome['events'], ofSome['endpoints'], ofSome['deliveries']], [2, 1, 2]);
  const exhausted = await order({ client_id: 'alpha', ...ALWAYS, state: 'exhausted', dry_run: true });
  assert.equal((assertSuccess(exhausted)['count'] as Record<string, unknown>)['deliveries'], 0);
  assert.deepEqual(await replayActions(), [], 'a dry run changes nothing');

  // Six at once, as from a console whose button is pressed again and again.
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => start({ client_id: 'alpha', ...ALWAYS }, 'all of it')),
  );
  assert.equal(new Set(answers.map(({ replay_id: id }) => id)).size, 1);
  const ended = await untilEnded(answers[0] ?? assert.fail());
  assert.deepEqual([ended.state, ended.created_by], ['COMPLETED', 'engineer']);
  assert.deepEqual(
    ended.endpoints.map(({ outcome, examined, replayed, progress }) => [outcome, examined, replayed, progress]),
    [
      ['completed', 5, 5, 1],
      ['completed', 5, 5, 1],
    ],
  );
  await untilReceived(10);
  const again = await start({ client_id: 'alpha', ...ALWAYS }, 'all of it');
  assert.deepEqual([again.replay_id, again.state], [ended.replay_id, 'COMPLETED']);
  assertError(await order({ ...REASON, ...some }, 'all of it'), 'IDEMPOTENCY_KEY_REUSED');

  const second = await untilEnded(await start(some, 'two of them'));
  await eventually('only those arrive', () => received('/one') === 12);
  assert.equal(received('/two'), 10);
  const actions = await replayActions();
  assert.deepEqual(
    actions.map(({ action, client_id: client, subject_id: subject }) => [action, client, subject]),
    [ended, second].map(({ replay_id: id }) => ['callback replay', 'alpha', id]),
  );
  assert.equal(actions[0]?.['reason'], REASON.reason);
});

/** Events of a client that is sent nothing, because it is disabled: what becomes pending stays pending. */
async function addSilentClient(clientId: string, events: number): Promise<string> {
  const { token } = await service.addClient(clientId, [...CLIENT_SCOPES]);
  const { endpointId } = await register(service, { url: receiver.url, kinds: ['bank.up'] }, token);
  await sql('update tiba.clients set disabled_at = now() where client_id = $1', [clientId]);
  await sql(
    `insert into tiba.events (client_id, sequence, occurred_at, version, subject_id, kind, data)
     select $1, n, now() - interval '1 day' + n * interval '1 second', n, 'CENAIDJA', 'bank.up', '{}'
       from generate_series(1, $2::int) n`,
    [clientId, events],
  );
  return endpointId;
}

test('a replay goes on only as its receiver takes deliveries, and is cancelled', async () => {
  const endpointId = await addSilentClient('silent', 1_500);
  const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString();
  const replay = await start({ client_id: 'silent', from: hoursAgo(24.5), to: hoursAgo(23) }, 'too many');
  const progressOf = async (): Promise<Replay['endpoints'][number]> =>
    (assertSuccess(await read(`/${replay.replay_id}`)) as unknown as Replay).endpoints[0] ?? assert.fail();
  await eventually('it waits for the receiver', async () => (await progressOf()).replayed >= 500);
  const waiting = await progressOf();
  assert.ok(waiting.replayed < 700, `${waiting.replayed} pending`);
  assert.ok(waiting.progress > 0 && waiting.progress < 1, `${waiting.progress}`);
  const step = { dueMax: 500, eventsMax: 200, callbackDays: 90 };
  const key = { replayId: replay.replay_id, clientId: 'silent', endpointId };
  // "ended" also while the service has this step.
  const isWaiting = async () => (await advanceReplay(service.app.database, key, step)) === 'waiting';
  await eventually('it waits', isWaiting);

  assertError(await cancel('rp_00000000000000000000'), 'NOT_FOUND');
  assert.equal(assertSuccess(await cancel(replay.replay_id))['state'], 'CANCELLED');
  assert.equal(assertSuccess(await cancel(replay.replay_id))['state'], 'CANCELLED');
  await sql("delete from tiba.callback_outbox where client_id = 'silent'");
  await sql("delete from tiba.callback_outbox_ranges where client_id = 'silent'");
  assert.equal(await advanceReplay(service.app.database, key, step), 'ended');
  assert.deepEqual(assertSuccess(await read('?state=RUNNING')), { replays: [], has_more: false });
  const cancelled = (await replayActions()).filter(({ action }) => action === 'callback replay cancel');
  assert.equal(cancelled.length, 1, 'what changes nothing leaves no record');
});

/**
 * Regression: a replay waited while its endpoint had 500 pending deliveries, whatever they waited for. Those of a
 * receiver that had been down for hours waited for their next attempt, and the replay that was to send them at once
 * never began.
 */
test('a replay does not wait for deliveries that wait for a later attempt', async () => {
  const endpointId = await addSilentClient('backoff', 600);
  await sql(
    `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at, attempts)
     select 'backoff', $1, n, now() + interval '10 hours', 6 from generate_series(1, 600) n`,
    [endpointId],
  );
  const replay = await start({ client_id: 'backoff', ...ALWAYS, state: 'pending' }, 'backoff');
  const ended = await untilEnded(replay);
  assert.deepEqual(
    ended.endpoints.map(({ outcome, replayed }) => [outcome, replayed]),
    [['completed', 600]],
  );
  const due = await sql("select from tiba.callback_outbox where client_id = 'backoff' and next_attempt_at <= now()");
  assert.equal(due.length, 600);
});

test('processes that carry out the same replay make each delivery pending once', async () => {
  const endpointId = await addSilentClient('shared', 300);
  const { replay_id: replayId } = await start({ client_id: 'shared', endpoint_id: endpointId, ...ALWAYS }, 'shared');
  const key = { replayId, clientId: 'shared', endpointId };
  const step = { dueMax: 1_000, eventsMax: 20, callbackDays: 90 };
  const processes = Array.from({ length: 4 }, async () => {
    // "ended" also when another process has this step.
    for (let steps = 0; steps < 30; steps += 1) await advanceReplay(service.app.database, key, step);
  });
  await Promise.all(processes);
  const ended = await untilEnded({ replay_id: replayId } as Replay);
  assert.deepEqual(
    ended.endpoints.map(({ outcome, examined, replayed }) => [outcome, examined, replayed]),
    [['completed', 300, 300]],
  );
  const [row] = await sql("select count(*)::int as count from tiba.callback_outbox where client_id = 'shared'");
  assert.equal(row?.['count'], 300);
});

test('a replay by time goes on when the retention has removed the event at its position', async () => {
  const endpointId = await addSilentClient('removed', 30);
  const body = { client_id: 'removed', endpoint_id: endpointId, ...ALWAYS };
  // The service itself examines nothing while these wait.
  await sql(
    `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at, attempts)
     select 'removed', $1, n, now(), 0 from generate_series(1001, 6000) n`,
    [endpointId],
  );
  const { replay_id: replayId } = await start(body, 'removed');
  const key = { replayId, clientId: 'removed', endpointId };
  const step = { dueMax: 10_000, eventsMax: 10, callbackDays: 90 };
  assert.equal(await advanceReplay(service.app.database, key, step), 'advanced');
  await sql("delete from tiba.events where client_id = 'removed' and sequence <= 10");
  await sql("delete from tiba.callback_outbox where client_id = 'removed' and sequence > 1000");
  const ended = await untilEnded({ replay_id: replayId } as Replay);
  assert.deepEqual(
    ended.endpoints.map(({ outcome, examined }) => [outcome, examined]),
    [['completed', 30]],
  );
});

test('events of a transaction that is gone have its ID, and those after it go on', async () => {
  const endpointId = await addSilentClient('gone', 1);
  await sql(
    `insert into tiba.events (client_id, sequence, occurred_at, version, subject_id, kind)
     values ('gone', 2, now(), 1, 'TB999999', 'disbursement.succeeded')`,
  );
  const { database } = service.app;
  const events = await listEvents(database, 'gone', { after: 0, limit: 10 });
  assert.deepEqual(
    events.map(({ data }) => data),
    ['{}', '{"transaction_id":"TB999999"}'],
  );
  await sql("update tiba.clients set disabled_at = null where client_id = 'gone'");
  await sql(
    `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at)
     select 'gone', $1, n, now() from generate_series(1, 2) n`,
    [endpointId],
  );
  const claimed = await claimDeliveries(database, { clientId: 'gone', endpointId }, { limit: 10, leaseMs: 60_000 });
  assert.equal(claimed.length, 2);
});

test('what cannot be replayed is refused with what to do', async () => {
  const { endpointId } = await register(service, { url: receiver.url });
  const whole = { client_id: 'alpha', ...ALWAYS, ...REASON };
  assertError(await order(whole), 'INVALID_REQUEST', /Idempotency-Key is missing/);
  assertError(await order({ ...whole, reason: 'no' }, 'k'), 'INVALID_REQUEST', /reason must say why/);
  for (const [body, message] of [
    [{ from: undefined, to: undefined }, /give from and to, or first_sequence and last_sequence/],
    [{ first_sequence: 1, last_sequence: 2 }, /and not both/],
    [{ from: '2099-01-01T00:00:00Z', to: '2020-01-01T00:00:00Z' }, /from must be before to/],
    [{ from: 'yesterday' }, /from must be a time/],
    [{ state: 'lost' }, /state must be one of/],
    [{ dry_run: 'yes' }, /dry_run must be true or false/],
    [{ client_id: undefined }, /client_id/],
    [{ endpoint_id: 5 }, /endpoint_id must be a string, or null/],
    [{ endpoint: endpointId }, /does not have/],
  ] as const) {
    assertError(await order({ ...whole, ...body }, 'k'), 'INVALID_REQUEST', message);
  }
  const numbers = { client_id: 'alpha', ...REASON };
  assertError(await order({ ...numbers, first_sequence: 3, last_sequence: 2 }, 'k'), 'INVALID_REQUEST', /at most/);
  assertError(await order({ ...numbers, first_sequence: 0, last_sequence: 2 }, 'k'), 'INVALID_REQUEST', /from 1 to/);
  assertError(
    await order({ ...numbers, first_sequence: 1, last_sequence: 2, state: 'missing' }, 'k'),
    'INVALID_REQUEST',
    /missing needs from and to/,
  );
  assertError(await order({ ...whole, endpoint_id: 'ep_00000000000000000000' }, 'k'), 'ENDPOINT_NOT_FOUND');
  assertError(await order({ ...whole, client_id: 'beta', endpoint_id: endpointId }, 'k'), 'ENDPOINT_NOT_FOUND');
  assertError(await order({ ...whole, client_id: 'beta' }, 'k'), 'ENDPOINT_NOT_FOUND', /no endpoint that is enabled/);
  assertError(await order({ ...whole, client_id: 'nobody' }, 'k'), 'ENDPOINT_NOT_FOUND', /there is no such client/);
  await sql(
    "update tiba.callback_endpoints set disabled_at = now(), disabled_reason = 'client' where endpoint_id = $1",
    [endpointId],
  );
  assertError(await order({ ...whole, endpoint_id: endpointId }, 'k'), 'ENDPOINT_DISABLED');
  assertError(await order({ ...whole, endpoint_id: endpointId, dry_run: true }), 'ENDPOINT_DISABLED');
  assertError(await order(whole, 'k', 'viewer'), 'FORBIDDEN');
  assertError(await read('/rp_1'), 'NOT_FOUND');
  assertError(await read('?state=ENDED'), 'INVALID_REQUEST');
});
