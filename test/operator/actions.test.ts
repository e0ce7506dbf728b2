import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import { after, before, test } from 'node:test';
import pg from 'pg';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { openSql, register } from '../callbacks/endpoints-harness.ts';
import { assertError, assertSuccess } from '../contract/assertions.ts';
import { databaseUrlOf, manage } from '../manage/manage-process.ts';
import { eventually } from '../support/eventually.ts';
import { type HttpReceiver, startHttpReceiver } from '../support/http-receiver.ts';
import { type Answer, send, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { addMachine, type Machine } from './machine.ts';

/** What operators do, and the record of it. */

let inquiries = 0;
const bank: Rail = {
  name: 'bank-one',
  reaches: () => true,
  inquireAccount: () => Promise.resolve({ kind: 'no_verdict', reason: 'timeout', railCode: null }),
  inquireStatus({ reference }) {
    inquiries += 1;
    const status = reference === 'PENDING' ? 'PROCESS' : 'SUCCESS';
    return Promise.resolve({ kind: 'status', status, railCode: '00' });
  },
  close: () => Promise.resolve(),
};

let service: TestService;
let receiver: HttpReceiver;
let sql: Awaited<ReturnType<typeof openSql>>;
const machines: Record<string, Machine> = {};

before(async () => {
  receiver = await startHttpReceiver();
  service = await startTestService({ rails: [bank] });
  sql = await openSql(service);
  for (const [clientId, scopes] of [
    ['viewer', ['operator:read']],
    ['engineer', ['operator:read', 'operator:write', 'operator:unmask']],
    ['auditor', ['audit:read']],
  ] as const) {
    machines[clientId] = await addMachine(service, clientId, scopes);
  }
});
after(async () => {
  await receiver?.close();
  await sql?.end();
  await service?.close();
});

const as = (who: string): Machine => machines[who] ?? assert.fail(who);

const act = (method: string, path: string, body: unknown, who = 'engineer'): Promise<Answer> =>
  as(who).act(method, path, body);

const readAudit = (query = '', headers: Record<string, string> = {}): Promise<Answer> =>
  as('auditor').get(`audit${query}`, headers);

type Action = Readonly<Record<string, string | number | null>>;

const actionsOf = async (query = ''): Promise<readonly Action[]> =>
  assertSuccess(await readAudit(query))['actions'] as readonly Action[];

const REASON = { reason: 'Ticket 4711: the customer asks' };

test('an account number is unmasked with its own scope, a reason and a record', async () => {
  // Of today: an overdue one has callbacks, which a later test would receive.
  assertSuccess(await service.feed(statusUpdate({ created_at: new Date().toISOString() })));
  const path = 'transactions/TB0000000001/unmask';
  assertError(await act('POST', path, REASON, 'viewer'), 'FORBIDDEN', /operator:unmask/);
  for (const body of [{}, { reason: '' }, { reason: 'why' }, { reason: 7 }, { reason: 'a'.repeat(501) }]) {
    assertError(await act('POST', path, body), 'INVALID_REQUEST', /reason must say why/);
  }
  assertError(await act('POST', path, { ...REASON, client: 'x' }), 'INVALID_REQUEST', /it has reason/);
  assert.equal((await actionsOf()).length, 0);
  const data = assertSuccess(await act('POST', path, REASON));
  assert.deepEqual([data['account_number'], data['account_name']], ['1234567890', 'BUDI SANTOSO']);
  const [action] = await actionsOf('?action=transaction+unmask');
  assert.deepEqual(
    [action?.['actor'], action?.['origin'], action?.['client_id'], action?.['subject_id'], action?.['reason']],
    ['engineer', '127.0.0.1', 'alpha', 'TB0000000001', REASON.reason],
  );
});

test('the bank is asked at once, and not again at once', async () => {
  const id = { transaction_id: 'TB0000000002', reference_id: 'two' };
  const transfer = { ...id, rail: 'bank-one', rail_reference: 'P2', created_at: new Date().toISOString() };
  assertSuccess(await service.feed(statusUpdate(transfer)));
  const first = assertSuccess(await act('POST', 'transactions/TB0000000002/inquire', REASON));
  assert.deepEqual(first, { inquired: true, result: 'SUCCESS', status: 'SUCCESS' });
  const again = assertSuccess(await act('POST', 'transactions/TB0000000002/inquire', REASON));
  assert.deepEqual(again, { inquired: false, result: 'not_supported', status: 'SUCCESS' });
  assert.equal(inquiries, 1);
});

/** Regression: it did not say why the bank was not asked, and was recorded as if it had been. */
test('a bank that is not asked is no record, and the answer says why', async () => {
  const id = { transaction_id: 'TB0000000012', reference_id: 'twelve' };
  const transfer = { ...id, rail: 'bank-one', rail_reference: 'PENDING', created_at: new Date().toISOString() };
  assertSuccess(await service.feed(statusUpdate(transfer)));
  const inquire = async () => assertSuccess(await act('POST', 'transactions/TB0000000012/inquire', REASON));
  assert.deepEqual(await inquire(), { inquired: true, result: 'PROCESS', status: 'PROCESS' });
  const recorded = (await actionsOf('?action=transaction+inquire')).length;
  assert.deepEqual(await inquire(), { inquired: false, result: 'too_soon', status: 'PROCESS' });
  assert.equal((await actionsOf('?action=transaction+inquire')).length, recorded);
});

test('a delivery of any client is sent again', async () => {
  const { endpointId } = await register(service, { url: `${receiver.url}/` });
  const id = { transaction_id: 'TB0000000003', reference_id: 'three' };
  assertSuccess(await service.feed(statusUpdate({ ...id, status: 'SUCCESS' })));
  // The first transaction becomes overdue meanwhile.
  const bodies = (): string[] => receiver.requests.map(({ body }) => body).filter((body) => body.includes('"three"'));
  await eventually('the callback arrives', () => bodies().length === 1);
  const [event] = await sql("select sequence from tiba.events where subject_id = 'TB0000000003'");
  const path = `callback-deliveries/${endpointId}-${String(event?.['sequence'])}/resend`;
  assertError(await act('POST', path, { ...REASON, client_id: 'beta' }), 'DELIVERY_NOT_FOUND');
  assertError(await act('POST', path, REASON), 'INVALID_REQUEST', /client_id/);
  const recorded = (await actionsOf()).length;
  await eventually('the first attempt is stored', async () => {
    const [delivery] = await sql('select state from tiba.callback_deliveries where sequence = $1', [
      event?.['sequence'],
    ]);
    return delivery?.['state'] === 'delivered';
  });
  assertSuccess(await act('POST', path, { ...REASON, client_id: 'alpha' }));
  await eventually('it arrives again', () => bodies().length === 2);
  assert.equal(bodies()[1], bodies()[0]);
  assert.equal((await actionsOf()).length, recorded + 1);
});

test('an access token resends at most 100 callbacks an hour: more of them are a replay', async () => {
  const { token } = await service.addClient('looping', ['operator:write']);
  const resend = (sequence: number) =>
    send(`${service.operatorUrl}/operator/v1/callback-deliveries/ep_00000000000000000000-${sequence}/resend`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ client_id: 'alpha', reason: 'Ticket 4711: a loop' }),
    });
  for (let sequence = 1; sequence <= 100; sequence += 1) assertError(await resend(sequence), 'DELIVERY_NOT_FOUND');
  const refused = await resend(101);
  assertError(refused, 'RATE_LIMIT_EXCEEDED', /start or propose a replay/);
  assert.ok(Number(refused.headers.get('retry-after')) > 3_000);
});

test('what was not delivered is listed over all clients, page by page', async () => {
  const { endpointId } = await register(service, { url: `${receiver.url}/?key=hush` }, service.beta.token);
  await sql(
    `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, state, attempts, next_attempt_at, ended_at)
     select 'beta', $1, n, case when n % 2 = 0 then 'exhausted' else 'pending' end, n, now() + interval '1 day',
            case when n % 2 = 0 then now() end
       from generate_series(1001, 1007) as n`,
    [endpointId],
  );
  const list = async (query: string) =>
    assertSuccess(await as('viewer').get(`callback-deliveries${query}`)) as {
      deliveries: Record<string, unknown>[];
      next_cursor: string | null;
    };
  const ids: unknown[] = [];
  for (let query = '?limit=2'; ; ) {
    const { deliveries, next_cursor: cursor } = await list(query);
    ids.push(...deliveries.map((each) => each['delivery_id']));
    if (cursor === null) break;
    query = `?limit=2&cursor=${cursor}`;
  }
  assert.deepEqual(
    ids,
    [1001, 1002, 1003, 1004, 1005, 1006, 1007].map((sequence) => `${endpointId}-${sequence}`),
  );
  const exhausted = await list(`?state=exhausted&client_id=beta&endpoint_id=${endpointId}`);
  assert.deepEqual(
    exhausted.deliveries.map((each) => each['attempt_count']),
    [1002, 1004, 1006],
  );
  assert.equal(exhausted.deliveries[0]?.['origin'], receiver.url);
  // Regression: no operator list said why callbacks fail.
  await sql(
    `insert into tiba.callback_attempts
       (client_id, endpoint_id, sequence, attempt, started_at, duration_ms, http_status, error)
     values ('beta', $1, 1002, 1001, '2026-11-29T03:31:43Z', 5, 500, null),
            ('beta', $1, 1002, 1002, '2026-11-29T03:32:43Z', 5, null, 'connection refused')`,
    [endpointId],
  );
  const failed = await list(`?state=exhausted&client_id=beta&endpoint_id=${endpointId}`);
  assert.deepEqual(
    failed.deliveries.map((each) => each['last_attempt']),
    [{ at: '2026-11-29T03:32:43.000Z', http_status: null, error: 'connection refused' }, null, null],
  );
  assert.deepEqual((await list('?client_id=alpha')).deliveries, []);
  assertError(
    await as('viewer').get(`callback-deliveries?endpoint_id=${endpointId}`),
    'INVALID_REQUEST',
    /endpoint_id needs client_id/,
  );
  await sql("delete from tiba.callback_outbox where client_id = 'beta'");
});

test('a review is ended with a reason, and the bank is asked again', async () => {
  const id = { transaction_id: 'TB0000000004', reference_id: 'four' };
  assertSuccess(await service.feed(statusUpdate({ ...id, rail: 'no-such-rail', rail_reference: 'P4' })));
  const path = 'transactions/TB0000000004/resolve-review';
  assert.equal(assertSuccess(await act('POST', path, REASON))['resolved'], false);
  await sql(
    `update tiba.status_inquiries set unknown_since = now(), review_since = now(), last_inquired_at = now(),
            next_at = now() + interval '1 day'
      where transaction_id = 'TB0000000004'`,
  );
  assert.equal(assertSuccess(await act('POST', path, REASON))['resolved'], true);
  const [inquiry] = await sql(
    "select review_since, next_at <= now() as due from tiba.status_inquiries where transaction_id = 'TB0000000004'",
  );
  assert.deepEqual(inquiry, { review_since: null, due: true });
  const [action] = await actionsOf('?action=review+resolve');
  assert.match(String(action?.['before']), /review_since/);
});

test('a change of a client has before and after in its record, and takes effect', async () => {
  const changes = { limits: { check_status_per_minute: 7 }, trusted: true };
  const client = assertSuccess(await act('PATCH', 'clients/beta', { ...REASON, ...changes }));
  assert.deepEqual(
    [client['trusted'], (client['limits'] as Record<string, number>)['check_status_per_minute']],
    [true, 7],
  );
  const [action] = await actionsOf('?client_id=beta');
  const [was, is] = [action?.['before'], action?.['after']].map(
    (text) => JSON.parse(String(text)) as Record<string, unknown>,
  );
  assert.deepEqual([was?.['trusted'], is?.['trusted']], [false, true]);
  // What changes nothing leaves no record.
  const recorded = (await actionsOf()).length;
  assertSuccess(await act('PATCH', 'clients/beta', { ...REASON, trusted: true }));
  assert.equal((await actionsOf()).length, recorded);
  assertError(await act('PATCH', 'clients/unknown', { ...REASON, trusted: true }), 'NOT_FOUND');
  for (const wrong of [{ limits: { x: 1 } }, { limits: 3 }, { limits: { accounts_per_day: -1 } }, { trusted: 'yes' }]) {
    assertError(await act('PATCH', 'clients/beta', { ...REASON, ...wrong }), 'INVALID_REQUEST');
  }
  assertError(await act('PATCH', 'clients/beta', { ...REASON, trusted: true }, 'viewer'), 'FORBIDDEN');
});

test('a command leaves a record with the system user, and the chain is whole', async () => {
  const environment = { DATABASE_URL: databaseUrlOf(service.database) };
  const ended = await manage(['client', 'distrust', 'beta', '--reason', 'Ticket 9'], { environment });
  assert.equal(ended.code, 0, ended.stderr);
  const [action] = await actionsOf();
  assert.deepEqual(
    [action?.['actor'], action?.['origin'], action?.['action'], action?.['client_id'], action?.['reason']],
    [`user:${userInfo().username}`, hostname(), 'client distrust', 'beta', 'Ticket 9'],
  );
  const verified = await manage(['audit', 'verify'], { environment });
  assert.match(verified.stdout, /^\d+ records of actions are whole/);
  assert.ok(verified.stdout.includes(String(action?.['hash'])));
});

test('many at the same time make one chain; pages and the export have all of it', async () => {
  await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      act('PATCH', 'clients/alpha', { ...REASON, limits: { accounts_per_day: 1_000 + index } }),
    ),
  );
  const { text } = await readAudit('', { accept: 'application/x-ndjson' });
  const exported = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Action);
  assert.ok(exported.length >= 13);
  const oldestFirst = exported.toReversed();
  for (const [index, action] of oldestFirst.entries()) {
    assert.equal(action['sequence'], index + 1);
    assert.equal(action['previous_hash'], oldestFirst[index - 1]?.['hash'] ?? '');
    assert.equal(action['hash'], hashOf(action));
  }
  const paged: Action[] = [];
  let query = '?limit=5';
  for (;;) {
    const data = assertSuccess(await readAudit(query)) as { actions: Action[]; next_cursor: string | null };
    paged.push(...data.actions);
    if (data.next_cursor === null) break;
    query = `?limit=5&cursor=${data.next_cursor}`;
  }
  assert.deepEqual(paged, exported);
  assertError(await readAudit('?actors=x'), 'INVALID_REQUEST');
  assertError(await as('viewer').get('audit'), 'FORBIDDEN', /audit:read/);
});

/** As docs/operating.md says that a hash is made. */
const hashOf = (action: Action): string =>
  createHash('sha256')
    .update(
      JSON.stringify(
        [
          'sequence',
          'happened_at',
          'actor',
          'origin',
          'action',
          'client_id',
          'subject_id',
          'reason',
          'before',
          'after',
          'actor_name',
          'session_id',
          'role',
          'proposal_id',
          'approved_by',
          'approved_by_name',
          'previous_hash',
        ].map((name) => action[name] ?? (name === 'previous_hash' ? '' : null)),
      ),
    )
    .digest('hex');

test('nothing changes or removes a record, and a change by force is noticed', async () => {
  const owner = new pg.Client(service.database.connection);
  await owner.connect();
  try {
    for (const statement of [
      'update tiba.operator_actions set reason = null',
      'delete from tiba.operator_actions',
      'truncate tiba.operator_actions',
      'set session_replication_role = replica; delete from tiba.operator_actions',
    ]) {
      await assert.rejects(owner.query(statement), /never changed or removed/);
    }
    for (const statement of [
      'update tiba.operator_actions_end set last_sequence = 0',
      'delete from tiba.operator_actions_end',
      'truncate tiba.operator_actions_end',
    ]) {
      await assert.rejects(owner.query(statement), /moves with a new record only/);
    }
    for (const [sequence, previous] of [
      ['max(sequence) + 2', 'max(last_hash)'],
      ['max(sequence) + 1', "'\\x00'"],
      ['0', 'max(last_hash)'],
    ]) {
      const inserted = owner.query(
        `insert into tiba.operator_actions (sequence, happened_at, actor, origin, action, previous_hash, hash)
         select ${sequence}, now(), 'x', 'x', 'x', ${previous}, '' from tiba.operator_actions, tiba.operator_actions_end`,
      );
      await assert.rejects(inserted, /does not follow the last one/);
    }
    await owner.query('reset session_replication_role');
    const environment = { DATABASE_URL: databaseUrlOf(service.database) };
    const faultsAfter = async (statement: string): Promise<string> => {
      await owner.query(`create table copy as select * from tiba.operator_actions`);
      await owner.query('alter table tiba.operator_actions disable trigger user');
      await owner.query(statement);
      const { code, stderr } = await manage(['audit', 'verify'], { environment });
      assert.equal(code, 1);
      await owner.query('truncate tiba.operator_actions');
      await owner.query('insert into tiba.operator_actions select * from copy');
      await owner.query('drop table copy');
      return stderr;
    };
    assert.match(
      await faultsAfter("update tiba.operator_actions set reason = 'x' where sequence = 3"),
      /3 was changed/,
    );
    assert.match(await faultsAfter('delete from tiba.operator_actions where sequence = 4'), /1 before 5 missing/);
    const last = 'sequence = (select max(sequence) from tiba.operator_actions)';
    assert.match(await faultsAfter(`delete from tiba.operator_actions where ${last}`), /1 at the end missing/);
    assert.match(
      await faultsAfter(
        `insert into tiba.operator_actions (sequence, happened_at, actor, origin, action, previous_hash, hash)
         select max(sequence) + 1, now(), 'x', 'x', 'x', '', '' from tiba.operator_actions`,
      ),
      /1 after the end were added by force/,
    );
    assert.equal((await manage(['audit', 'verify'], { environment })).code, 0);
  } finally {
    await owner.end();
  }
});
