import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import pg from 'pg';
import { timeLimitMs } from '../support/suite-environment.ts';
import { assertRecovers, assertUnavailable, timeRequest } from './request-monitor.ts';
import { startServiceOnPostgres } from './service-on-postgres.ts';

const taken: pg.Client[] = [];
// Before the server is removed: hooks run in the order of their registration.
after(releaseConnections);
const { server, checkStatus, feedTransaction } = await startServiceOnPostgres({
  postgres: { settings: { max_connections: '16' } },
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
  const timed = await timeRequest(checkStatus);
  assertUnavailable(timed);
  assert.ok(timed.tookMs < timeLimitMs(1_500), `${Math.round(timed.tookMs)} ms`);

  const feeds = await Promise.all(
    Array.from({ length: 6 }, (_, index) => timeRequest(() => feedTransaction(`TB100000000${index}`))),
  );
  const failed = feeds.filter(({ answer }) => answer.status !== 200);
  assert.ok(failed.length > 0);
  for (const each of failed) assertUnavailable(each);

  await releaseConnections();
  await assertRecovers(() => feedTransaction('TB1000000000'));
  await assertRecovers(checkStatus);
});
