import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { type PostgresServer, startPostgresServer } from './postgres-server.ts';
import {
  assertOkOrUnavailable,
  assertRecovers,
  assertUnavailable,
  requestContinuously,
  timeRequest,
  until,
} from './request-monitor.ts';

let server: PostgresServer;
let service: TestService;

before(async () => {
  server = await startPostgresServer();
  service = await startTestService({ rails: [], database: server.database });
  assert.equal((await service.feed(statusUpdate())).status, 200);
});
after(async () => {
  await service?.close();
  await server?.remove();
});

const checkStatus = () => service.get('/api/v1/check-status/TB0000000001');
const feed = (id: string) => service.feed(statusUpdate({ transaction_id: id, reference_id: id }));
const ids = Array.from({ length: 1_000 }, (_, index) => `TR${String(index).padStart(10, '0')}`).values();

async function setReadOnly(readOnly: boolean): Promise<void> {
  await server.query(`alter system set default_transaction_read_only = ${readOnly ? 'on' : 'off'}`);
  await server.query('select pg_reload_conf()');
  const expected = readOnly ? 'on' : 'off';
  await until('new connections see the setting', async () => {
    const [row] = await server.query<{ value: string }>("select current_setting('transaction_read_only') as value");
    return row?.value === expected;
  });
}

test('while PostgreSQL is read-only, look-ups work and feeds get 503; both recover without a restart', async (t) => {
  const requests = requestContinuously(t, checkStatus, 4);
  await setReadOnly(true);
  // An open connection applies the setting with one of its next statements.
  await until('feeds get 503', async () => (await feed(ids.next().value ?? '')).status === 503);
  for (let round = 0; round < 5; round += 1) assertUnavailable(await timeRequest(() => feed('TB0000000002')));
  assert.equal((await service.get('/api/v1/check-status/TB0000000002')).status, 404);
  assert.equal((await checkStatus()).status, 200);

  await setReadOnly(false);
  await assertRecovers(() => feed('TB0000000002'));
  assert.equal((await service.get('/api/v1/check-status/TB0000000002')).status, 200);
  assertOkOrUnavailable(await requests.stop());
});
