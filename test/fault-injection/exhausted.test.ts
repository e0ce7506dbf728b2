import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import pg from 'pg';
import { eventually } from '../support/eventually.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { assertRecovers, assertUnavailable, timeRequest } from './request-monitor.ts';
import { startServiceOnPostgres } from './service-on-postgres.ts';

const CONNECTIONS_MAX = 16;

const taken: pg.Client[] = [];
// Before the server is removed: hooks run in the order of their registration.
after(releaseConnections);
const { server, checkStatus, feedTransaction } = await startServiceOnPostgres({
  postgres: { settings: { max_connections: String(CONNECTIONS_MAX) } },
});

/** The pools of the service have none then. They open a new one for each that they lose while the server has any. */
async function takeAllConnections(): Promise<void> {
  await eventually('other programs have all connections that the pools could use', async () => {
    await takeFreeConnections();
    const [first] = taken;
    assert.ok(first !== undefined);
    const { rows } = await first.query<{ notOfPools: number }>(
      `select count(*)::int as "notOfPools" from pg_stat_activity
        where application_name = 'tiba notifications'`,
    );
    if (taken.length + (rows[0]?.notOfPools ?? 0) === CONNECTIONS_MAX) return true;
    // A backend ends, and frees its connection, some time after this.
    await first.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tiba'");
    return false;
  });
}

async function takeFreeConnections(): Promise<void> {
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
