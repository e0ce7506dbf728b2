import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startTestService, type TestClient, type TestService, word } from '../support/service.ts';
import { bound } from '../support/suite-environment.ts';
import { type PostgresServer, startPostgresServer } from './postgres-server.ts';
import { type NotificationsMode, type PostgresProxy, startPostgresProxy } from './proxy.ts';
import { assertUnavailable, RECOVERED_WITHIN_MS, timeRequest } from './request-monitor.ts';

/** docs/contract.md 5: a disabled client is out within one second. The rest is the test's own time. */
const OUT_WITHIN_MS = bound(1_000 + 150);

let server: PostgresServer;
let proxy: PostgresProxy;
let service: TestService;

before(async () => {
  server = await startPostgresServer();
  proxy = await startPostgresProxy(server.socketPath);
  service = await startTestService({ rails: [], database: { connection: proxy.connection, drop: async () => {} } });
  assert.equal((await service.feed(word())).status, 200);
});
after(async () => {
  await service?.close();
  await proxy?.close();
  await server?.remove();
});

const askAs = ({ token }: TestClient) => timeRequest(() => service.get('/api/v1/check-status/TB0000000001', { token }));

suite('a disabled client is let in for no longer than a second', () => {
  const fates: Record<NotificationsMode, string> = {
    carried: 'while all is well',
    cut: 'while the connection for notifications is cut and cannot be made again',
    silent: 'while the connection for notifications stands and carries nothing',
  };
  for (const [fate, name] of Object.entries(fates) as [NotificationsMode, string][]) {
    test(name, async () => {
      const client = await service.addClient(`leaving-${fate}`, ['status:read']);
      // It owns no transaction: being let in shows as 404.
      assert.equal((await askAs(client)).answer.status, 404);

      proxy.setNotificationsMode(fate);
      await server.query('update tiba.clients set disabled_at = now() where client_id = $1', [client.clientId]);
      const disabledMs = performance.now();
      let refusals = 0;
      for (const until = disabledMs + OUT_WITHIN_MS + 1_350; performance.now() < until; await delay(5)) {
        const observed = await askAs(client);
        if (observed.answer.status === 404) {
          const late = observed.startedMs - disabledMs;
          assert.ok(late < OUT_WITHIN_MS, `let in ${Math.round(late)} ms after it was disabled`);
          assert.equal(refusals, 0, 'let in again after it was out');
        } else {
          refusals += 1;
          if (observed.answer.status !== 401) assertUnavailable(observed);
          else assert.equal(observed.answer.json.error_code, 'UNAUTHORIZED');
        }
        if (fate === 'carried' && refusals > 0) break;
      }
      assert.ok(refusals > 0);

      proxy.setNotificationsMode('carried');
      await untilAnsweredWith(401, client);
      assert.equal((await askAs(service.alpha)).answer.status, 200, 'the others are in');
      await server.query('update tiba.clients set disabled_at = null where client_id = $1', [client.clientId]);
      await untilAnsweredWith(404, client);
    });
  }
});

async function untilAnsweredWith(status: number, client: TestClient): Promise<void> {
  const deadline = performance.now() + RECOVERED_WITHIN_MS;
  for (;;) {
    const { answer } = await askAs(client);
    if (answer.status === status) return;
    assert.ok(performance.now() < deadline, `${answer.status} instead of ${status}`);
    await delay(5);
  }
}
