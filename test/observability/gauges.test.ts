import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, suite, test } from 'node:test';
import { readBacklog } from '../../apps/server/src/postgres/backlog.ts';
import { changeClient } from '../../apps/server/src/postgres/clients.ts';
import program from '../../package.json' with { type: 'json' };
import { eventually } from '../support/eventually.ts';
import { commandIsMissing } from '../support/required-command.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';

/** What a scrape says about the state of the service (docs/operating.md, "Monitoring"). */

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

async function scrape(): Promise<string> {
  const response = await fetch(`${service.operatorUrl}/metrics`);
  assert.equal(response.status, 200);
  return response.text();
}

/** The value of a sample, named as in the text format. */
function valueOf(metrics: string, sample: string): number {
  const line = metrics.split('\n').find((each) => each.startsWith(`${sample} `));
  assert.ok(line !== undefined, `no sample ${sample}`);
  return Number(line.slice(sample.length + 1));
}

test('the backlog of callbacks, overdue transactions and the age of the feed', async () => {
  await service.app.database.query(
    `insert into tiba.callback_endpoints (client_id, endpoint_id, url, kinds, secret_sealed)
     values ('alpha', 'ep_waiting', 'http://127.0.0.1:9/', '{disbursement.overdue,disbursement.succeeded}', '\\x00')`,
  );
  const before = Date.now() / 1000;
  // Regression: it was 0 before the first update, so that TibaFeedSilent fired after each restart.
  const startedAt = valueOf(await scrape(), 'tiba_feed_last_update_timestamp_seconds');
  assert.ok(startedAt > before - 3_600 && startedAt <= before);
  // Its creation is long ago: the overdue check tells the client, whose endpoint cannot be reached.
  const fed = await service.feed(JSON.stringify(statusUpdate({ transaction_id: 'TG0000000001' })));
  assert.equal(fed.status, 200, fed.text);
  await service.app.transactionUpdater.markOverdue(new Date(), 10);
  await eventually('a scrape shows the backlog', async () => {
    const metrics = await scrape();
    return (
      valueOf(metrics, 'tiba_transactions_overdue') === 1 && valueOf(metrics, 'tiba_callback_deliveries_pending') === 1
    );
  });
  const metrics = await scrape();
  assert.equal(valueOf(metrics, 'tiba_transactions_for_review'), 0);
  assert.equal(valueOf(metrics, 'tiba_account_validation_rows_waiting'), 0);
  assert.ok(valueOf(metrics, 'tiba_callback_oldest_due_seconds') >= 0);
  assert.ok(valueOf(metrics, 'tiba_feed_last_update_timestamp_seconds') >= Math.floor(before));
  for (const pool of ['main', 'look_up', 'delivery']) {
    assert.equal(valueOf(metrics, `tiba_database_queries_waiting{pool="${pool}"}`), 0);
  }
});

// Regression: while a client with a due callback was disabled, and so is sent nothing, TibaCallbackBacklog fired.
test('a callback of a disabled client, which is sent nothing, is not due', async () => {
  const { database } = service.app;
  const { clientId } = await service.addClient('to-disable', ['status:read']);
  await changeClient(database, clientId, 'disable');
  await database.query(
    `insert into tiba.callback_endpoints (client_id, endpoint_id, url, kinds, secret_sealed)
     values ($1, 'ep_disabled', 'http://127.0.0.1:9/', '{disbursement.succeeded}', '\\x00')`,
    [clientId],
  );
  await database.query(
    `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at)
     values ($1, 'ep_disabled', 1, now() - interval '1 hour')`,
    [clientId],
  );
  assert.ok((await readBacklog(database)).oldestDueSeconds < 3_600);
});

// Regression: Prometheus sees no increase in a series that begins with 1, so these alerts missed the first one.
test('what an alert is about from the first one on is counted from 0', async () => {
  await service.get('/api/v1/check-status/NONE');
  const metrics = await scrape();
  assert.equal(
    valueOf(metrics, 'tiba_http_requests_total{route="/api/v1/check-status/:transaction_id",status="500"}'),
    0,
  );
  for (const reason of ['gone', 'failing'])
    assert.equal(valueOf(metrics, `tiba_callback_endpoints_disabled_total{reason="${reason}"}`), 0);
  for (const signal of ['accounts_per_day', 'not_found_ratio', 'sequential_numbers', 'clustered_numbers'])
    for (const level of ['slowed', 'blocked'])
      assert.equal(valueOf(metrics, `tiba_enumeration_restrictions_total{signal="${signal}",level="${level}"}`), 0);
});

test('a refusal counts for its client, and nothing else does', async () => {
  const narrow = await service.addClient('narrow', ['status:read'], { 'check-status': 1 });
  const statuses = [];
  for (let index = 0; index < 3; index += 1) {
    statuses.push((await service.get('/api/v1/check-status/NONE', { token: narrow.token })).status);
  }
  assert.deepEqual(statuses, [404, 429, 429]);
  await service.checkAccount({}, { token: narrow.token });
  const metrics = await scrape();
  const refused = (code: string): string => `tiba_requests_refused_total{client_id="narrow",error_code="${code}"}`;
  assert.equal(valueOf(metrics, refused('RATE_LIMIT_EXCEEDED')), 2);
  assert.equal(valueOf(metrics, refused('FORBIDDEN')), 1);
  assert.ok(!metrics.includes('TRANSACTION_NOT_FOUND'));
});

test('the version is a label of tiba_build_info', async () => {
  const { version } = program;
  assert.equal(valueOf(await scrape(), `tiba_build_info{version="${version}",node_version="${process.version}"}`), 1);
});

suite('promtool', { skip: commandIsMissing('promtool') }, () => {
  test('has no complaint about a metric of Tiba', async () => {
    assert.deepEqual(complaints(await scrape()), []);
  });

  test('would complain about a counter without _total and a metric without help', () => {
    assert.notDeepEqual(complaints('# TYPE tiba_planted counter\ntiba_planted 1\n'), []);
  });
});

/** The metrics that prom-client itself adds have names of their own tradition. */
function complaints(metrics: string): string[] {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: metrics });
  const lines = `${stdout.toString()}${stderr.toString()}`.split('\n').filter((line) => line !== '');
  assert.ok(status === 0 || lines.length > 0, 'promtool failed without a reason');
  return lines.filter((line) => line.startsWith('tiba_') || line.startsWith('error'));
}
