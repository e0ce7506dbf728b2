import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService, type TestService, word } from '../support/service.ts';
import { type PostgresServer, startPostgresServer } from './postgres-server.ts';
import {
  assertRecovers,
  assertRightOrUnavailable,
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
  assert.equal((await service.feed(word())).status, 200);
});
after(async () => {
  await service?.close();
  await server?.remove();
});

const ask = () => service.get('/api/v1/check-status/TB0000000001');
const feed = (id: string) => service.feed(word({ transaction_id: id, reference_id: id }));
const ids = Array.from({ length: 1_000 }, (_, index) => `TR${String(index).padStart(10, '0')}`).values();

async function setReadOnly(readOnly: boolean): Promise<void> {
  await server.query(`alter system set default_transaction_read_only = ${readOnly ? 'on' : 'off'}`);
  await server.query('select pg_reload_conf()');
  const expected = readOnly ? 'on' : 'off';
  await until('new connections see it', async () => {
    const [row] = await server.query<{ value: string }>("select current_setting('transaction_read_only') as value");
    return row?.value === expected;
  });
}

test('on a read-only PostgreSQL look-ups go on, feeds are 503 and told to repeat, and all recovers by itself', async (t) => {
  const asking = requestContinuously(t, ask, 4);
  await setReadOnly(true);
  // A connection that stands learns of it with its next statement or so.
  await until('feeds are refused', async () => (await feed(ids.next().value ?? '')).status === 503);
  for (let round = 0; round < 5; round += 1) assertUnavailable(await timeRequest(() => feed('TB0000000002')));
  assert.equal((await service.get('/api/v1/check-status/TB0000000002')).status, 404);
  assert.equal((await ask()).status, 200);

  await setReadOnly(false);
  await assertRecovers(() => feed('TB0000000002'));
  assert.equal((await service.get('/api/v1/check-status/TB0000000002')).status, 200);
  assertRightOrUnavailable(await asking.stop());
});
