import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { startTestService, type TestService, word } from '../support/service.ts';
import { bound } from '../support/suite-environment.ts';
import { type PostgresServer, startPostgresServer } from './postgres-server.ts';
import { assertRecovers, assertUnavailable, timeRequest } from './request-monitor.ts';

let server: PostgresServer;
let service: TestService;
const held: pg.Client[] = [];

before(async () => {
  server = await startPostgresServer({ max_connections: '16' });
  service = await startTestService({ rails: [], database: server.database });
});
after(async () => {
  await release();
  await service?.close();
  await server?.remove();
});

async function holdAll(): Promise<void> {
  for (;;) {
    const client = new pg.Client(server.database.connection);
    client.on('error', () => {});
    try {
      await client.connect();
    } catch (error) {
      assert.equal((error as { code?: string }).code, '53300', String(error));
      return;
    }
    held.push(client);
  }
}

async function release(): Promise<void> {
  await Promise.all(held.splice(0).map((client) => client.end()));
}

test('others hold all connections: 503 at once, and right answers as soon as there is one again', async () => {
  await holdAll();
  // What the service still holds is taken from it, and it finds no other.
  await held[0]?.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tiba'");
  await holdAll();
  const ask = () => service.get('/api/v1/check-status/TB0000000001');
  const observed = await timeRequest(ask);
  assertUnavailable(observed);
  assert.ok(observed.tookMs < bound(1_500), `${Math.round(observed.tookMs)} ms`);

  const feeds = await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      timeRequest(() => service.feed(word({ transaction_id: `TB000000000${index + 1}`, reference_id: `${index}` }))),
    ),
  );
  const refused = feeds.filter(({ answer }) => answer.status !== 200);
  assert.ok(refused.length > 0);
  for (const each of refused) assertUnavailable(each);

  await release();
  await assertRecovers(() => service.feed(word({ transaction_id: 'TB0000000001', reference_id: '0' })));
  await assertRecovers(ask);
});
