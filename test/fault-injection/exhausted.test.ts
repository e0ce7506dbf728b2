import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { type PostgresServer, startPostgresServer } from './postgres-server.ts';
import { assertRecovers, assertUnavailable, timeRequest } from './request-monitor.ts';

let server: PostgresServer;
let service: TestService;
const taken: pg.Client[] = [];

before(async () => {
  server = await startPostgresServer({ max_connections: '16' });
  service = await startTestService({ rails: [], database: server.database });
});
after(async () => {
  await releaseConnections();
  await service?.close();
  await server?.remove();
});

async function takeAllConnections(): Promise<void> {
  for (;;) {
    const client = new pg.Client(server.database.connection);
    client.on('error', () => {});
    try {
      await client.connect();
    } catch (error) {
      assert.equal((error as { code?: string }).code, '53300', String(error));
      return;
    }
    taken.push(client);
  }
}

async function releaseConnections(): Promise<void> {
  await Promise.all(taken.splice(0).map((client) => client.end()));
}

test('when other programs use all connections, requests get 503 at once, and 200 once one is free', async () => {
  await takeAllConnections();
  // The service loses its connections and cannot open new ones.
  await taken[0]?.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tiba'");
  await takeAllConnections();
  const checkStatus = () => service.get('/api/v1/check-status/TB0000000001');
  const timed = await timeRequest(checkStatus);
  assertUnavailable(timed);
  assert.ok(timed.tookMs < timeLimitMs(1_500), `${Math.round(timed.tookMs)} ms`);

  const feeds = await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      timeRequest(() =>
        service.feed(statusUpdate({ transaction_id: `TB000000000${index + 1}`, reference_id: `${index}` })),
      ),
    ),
  );
  const failed = feeds.filter(({ answer }) => answer.status !== 200);
  assert.ok(failed.length > 0);
  for (const each of failed) assertUnavailable(each);

  await releaseConnections();
  await assertRecovers(() => service.feed(statusUpdate({ transaction_id: 'TB0000000001', reference_id: '0' })));
  await assertRecovers(checkStatus);
});
