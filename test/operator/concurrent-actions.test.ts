import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { recordingAction } from '../../apps/server/src/postgres/operator-actions.ts';
import { releaseStatusInquiries } from '../../apps/server/src/postgres/status-inquiries.ts';
import { claimDueStatusInquiries, claimStatusInquiry } from '../../apps/server/src/postgres/status-inquiry-claims.ts';
import { openSql } from '../callbacks/endpoints-harness.ts';
import { assertSuccess } from '../contract/assertions.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { addMachine, type Machine } from './machine.ts';

/** Actions of operators while something else changes the same rows, and with parameters that name nothing. */

let service: TestService;
let sql: Awaited<ReturnType<typeof openSql>>;
let engineer: Machine;

before(async () => {
  service = await startTestService({ rails: [] });
  sql = await openSql(service);
  engineer = await addMachine(service, 'engineer', ['operator:read', 'operator:write', 'operator:unmask']);
});
after(async () => {
  await sql?.end();
  await service?.close();
});

const REASON = { reason: 'Ticket 4711: the customer asks' };

test('an inquiry that is in flight does not undo the end of a review, and stays the only one', async () => {
  const id = { transaction_id: 'TB0000000005', reference_id: 'five' };
  assertSuccess(await service.feed(statusUpdate({ ...id, rail: 'rail-elsewhere', rail_reference: 'P5' })));
  const key = { clientId: 'alpha', transactionId: 'TB0000000005', rail: 'rail-elsewhere' };
  const conditions = { leaseMs: 60_000, staleMs: 0, staleInReviewMs: 0, notBeforeFirst: false };
  const now = new Date().toISOString();
  await sql(
    `update tiba.status_inquiries set unknown_since = now(), review_since = now()
      where transaction_id = 'TB0000000005'`,
  );
  const { claimed } = await claimStatusInquiry(service.app.database, key, conditions);
  assert.ok(claimed !== null);
  assert.equal(
    assertSuccess(await engineer.act('POST', 'transactions/TB0000000005/resolve-review', REASON))['resolved'],
    true,
  );
  assert.equal((await claimStatusInquiry(service.app.database, key, conditions)).claimed, null);
  assert.deepEqual(await claimDueStatusInquiries(service.app.database, { rail: key.rail, leaseMs: 1, limit: 9 }), []);
  const next = { nextAt: now, attempts: 9, unknownSince: now, reviewSince: now };
  await releaseStatusInquiries(service.app.database, [{ claimed, next }]);
  const [inquiry] = await sql(
    `select unknown_since, review_since, next_at - now() between interval '0' and interval '1 minute' as soon
       from tiba.status_inquiries where transaction_id = 'TB0000000005'`,
  );
  assert.deepEqual(inquiry, { unknown_since: null, review_since: null, soon: true });
});

test('a path that PostgreSQL cannot hold as text names nothing', async () => {
  for (const text of ['%00', 'TB%000000001', '%ED%A0%80']) {
    for (const [method, path] of [
      ['PATCH', `clients/${text}`],
      ['POST', `transactions/${text}/unmask`],
      ['POST', `transactions/${text}/inquire`],
      ['POST', `transactions/${text}/resolve-review`],
      ['POST', `callback-deliveries/${text}/resend`],
      ['POST', `clients/alpha/secrets/${text}/retire`],
      ['POST', `clients/alpha/snap/keys/${text}/remove`],
    ] as const) {
      const { status } = await engineer.act(method, path, {
        ...REASON,
        ...(path.endsWith('resend') && { client_id: 'alpha' }),
      });
      assert.ok(status === 404 || status === 400, `${path}: ${status}`);
    }
    for (const path of [`transactions/${text}`, `transactions/${text}/timeline`]) {
      const { status } = await engineer.get(path);
      assert.ok(status === 404 || status === 400, `${path}: ${status}`);
    }
  }
});

test('a change by two operators at the same time is recorded by the one that made it', async () => {
  const other = new pg.Client(service.database.connection);
  await other.connect();
  try {
    // Another operator has disabled the client, and commits after this one's action began.
    await other.query('begin');
    await other.query("update tiba.clients set disabled_at = now() where client_id = 'beta'");
    const enabled = engineer.act('PATCH', 'clients/beta', { ...REASON, disabled: false });
    await eventually('the action waits', async () => {
      const [waiting] = await sql(
        "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      );
      return waiting?.['n'] === 1;
    });
    await other.query('commit');
    assert.equal(assertSuccess(await enabled)['disabled'], false);
  } finally {
    await other.end();
  }
  const [action] = await sql(
    "select before, after from tiba.operator_actions where client_id = 'beta' order by sequence desc limit 1",
  );
  const states = [action?.['before'], action?.['after']].map(
    (text) => (JSON.parse(String(text)) as Record<string, unknown>)['disabled'],
  );
  assert.deepEqual(states, [true, false]);
});

test('an inner transaction with a longer deadline than that of the recorded action is an error', async () => {
  const actor = { actor: 'test', origin: 'test' };
  const run = (timeoutMs?: number): Promise<string> =>
    recordingAction(
      service.app.database,
      actor,
      async (inside) => ({
        result: await inside.transaction(() => Promise.resolve('done'), { timeoutMs: 60_000 }),
        record: null,
      }),
      timeoutMs,
    );
  await assert.rejects(run(), /needs a timeoutMs of 60000/);
  assert.equal(await run(60_000), 'done');
});
