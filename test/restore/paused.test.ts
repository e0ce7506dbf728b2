import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { validationsOf } from '../account-validations/validations.ts';
import { call, dataOf, EVENTS, register } from '../callbacks/endpoints-harness.ts';
import { assertError } from '../contract/assertions.ts';
import { createTestDatabase, querySql, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type HttpReceiver, startHttpReceiver } from '../support/http-receiver.ts';
import { send, startTestService, statusUpdate, type TestService } from '../support/service.ts';

/** Twice the interval in which the service looks for callbacks, inquiries and validations that are due. */
const LOOKS_MS = 2_200;

describe('TIBA_PAUSED', () => {
  const inquired: string[] = [];
  const rail: Rail = {
    name: 'counted',
    reaches: () => true,
    inquireAccount: () => {
      inquired.push('account');
      return Promise.resolve({ kind: 'no_verdict', reason: 'rejected_by_bank', railCode: '1' });
    },
    inquireStatus: () => {
      inquired.push('status');
      return Promise.resolve({ kind: 'status', status: 'SUCCESS', railCode: '00' });
    },
    close: () => Promise.resolve(),
  };
  let database: TestDatabase;
  let receiver: HttpReceiver;
  let service: TestService;
  let validationId: string;
  let endpointId: string;

  const start = (paused: boolean): Promise<TestService> =>
    startTestService({ database, rails: [rail], settings: { paused, auditDays: 1 } });

  before(async () => {
    database = await createTestDatabase();
    receiver = await startHttpReceiver();
    service = await start(true);
    ({ endpointId } = await register(service, { url: `${receiver.url}/callbacks` }));
    const onRail = { rail: 'counted', rail_reference: 'R1', created_at: '2026-01-01T00:00:00Z' };
    const ended = { transaction_id: 'TP0000000002', reference_id: 'ended', status: 'SUCCESS' };
    const { text } = await service.feed([statusUpdate(onRail), statusUpdate(ended)]);
    assert.match(text, /"inserted":2/);
    validationId = await validationsOf(service).create([{ bank_code: 'BCA', account_number: '1234567890' }]);
    await querySql(database, 'update tiba.status_inquiries set next_at = now()');
    await querySql(
      database,
      `insert into tiba.account_checks (client_id, checked_at, check_id, bic, account_hash, outcome)
       values ('alpha', now() - interval '2 days', 1, 'CENAIDJA', '\\x00', 'ACTIVE')`,
    );
  });
  after(async () => {
    await service?.close();
    await receiver?.close();
    await database?.drop();
  });

  it('says so at start, in /readyz and in a metric, and is ready', async () => {
    assert.ok(
      service.logged.some(({ level, msg }) => level === 40 && String(msg).startsWith('paused: no receiver is called')),
    );
    const ready = await send(`${service.operatorUrl}/readyz`, {});
    assert.equal(ready.status, 200);
    assert.match(ready.text, /"status":"ok".*"paused":"TIBA_PAUSED: no receiver is called, no bank/);
    assert.match((await send(`${service.operatorUrl}/metrics`, {})).text, /^tiba_paused 1$/m);
  });

  it('answers account checks and tests of endpoints with 503, and everything that is read', async () => {
    const check = await service.checkAccount({ bank_code: 'BCA', account_number: '1234567890' });
    assertError(
      check,
      'SERVICE_UNAVAILABLE',
      /^Temporarily unavailable: the operator has paused this service: no bank/,
    );
    const tested = await call(service, 'POST', `/api/v1/callback-endpoints/${endpointId}/test`);
    assertError(tested, 'SERVICE_UNAVAILABLE', /paused this service: no callback is sent/);
    const status = await service.get('/api/v1/check-status/TB0000000001');
    assert.equal(status.json.data?.['status'], 'PROCESS');
    assert.equal((dataOf(await call(service, 'GET', EVENTS))['events'] as unknown[]).length, 1);
  });

  it('calls no receiver, asks no bank, claims and deletes nothing, although all of it is due', async () => {
    const startedMs = performance.now();
    await eventually('two looks would have been made', () => performance.now() - startedMs > LOOKS_MS);
    assert.deepEqual([inquired, receiver.requests.length], [[], 0]);
    const [row] = await querySql(
      database,
      `select (select count(*)::int from tiba.status_inquiries where claimed_until is null and attempts = 0) as inquiries,
              (select count(*)::int from tiba.callback_deliveries where attempts = 0) as deliveries,
              (select count(*)::int from tiba.account_validation_rows where state = 'waiting') as rows,
              (select count(*)::int from tiba.account_checks) as checks,
              (select count(*)::int from tiba.transactions where overdue_since is not null) as overdue`,
    );
    assert.deepEqual(row, { inquiries: 1, deliveries: 1, rows: 1, checks: 1, overdue: 0 });
  });

  it('goes on where it stopped when it is started without', async () => {
    await service.close();
    service = await start(false);
    await receiver.untilReceived(2);
    await validationsOf(service).untilEnded(validationId);
    assert.deepEqual(inquired.toSorted(), ['account', 'status']);
  });
});
