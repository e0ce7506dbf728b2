import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { TestClient } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import type { NotificationsMode } from './proxy.ts';
import { assertUnavailable, RECOVERED_WITHIN_MS, timeRequest } from './request-monitor.ts';
import { startServiceBehindProxy } from './service-on-postgres.ts';

/** docs/contract.md 5: a disabled client is rejected within one second. The rest is time that the test itself needs. */
const REJECTED_WITHIN_MS = timeLimitMs(1_000 + 150);

const { server, service, proxy } = await startServiceBehindProxy();

const requestAs = ({ token }: TestClient) =>
  timeRequest(() => service.get('/api/v1/check-status/TB0000000001', { token }));

suite('a disabled client is accepted for no longer than a second', () => {
  const modes: Record<NotificationsMode, string> = {
    forwarded: 'while there is no fault',
    cut: 'while the connection for notifications is cut and new ones are refused',
    silent: 'while the connection for notifications is open and forwards nothing',
  };
  for (const [mode, name] of Object.entries(modes) as [NotificationsMode, string][]) {
    test(name, async () => {
      const client = await service.addClient(`disabled-${mode}`, ['status:read']);
      // The client owns no transaction, so an accepted request gets 404.
      assert.equal((await requestAs(client)).answer.status, 404);

      proxy.setNotificationsMode(mode);
      await server.query('update tiba.clients set disabled_at = now() where client_id = $1', [client.clientId]);
      const disabledMs = performance.now();
      let rejected = 0;
      for (const until = disabledMs + REJECTED_WITHIN_MS + 1_350; performance.now() < until; await delay(5)) {
        const timed = await requestAs(client);
        if (timed.answer.status === 404) {
          const late = timed.startedMs - disabledMs;
          assert.ok(late < REJECTED_WITHIN_MS, `accepted ${Math.round(late)} ms after it was disabled`);
          assert.equal(rejected, 0, 'accepted again after it was rejected');
        } else {
          rejected += 1;
          if (timed.answer.status !== 401) assertUnavailable(timed);
          else assert.equal(timed.answer.json.error_code, 'UNAUTHORIZED');
        }
        if (mode === 'forwarded' && rejected > 0) break;
      }
      assert.ok(rejected > 0);

      proxy.setNotificationsMode('forwarded');
      await untilAnsweredWith(401, client);
      assert.equal((await requestAs(service.alpha)).answer.status, 200, 'other clients are accepted');
      await server.query('update tiba.clients set disabled_at = null where client_id = $1', [client.clientId]);
      await untilAnsweredWith(404, client);
    });
  }
});

async function untilAnsweredWith(status: number, client: TestClient): Promise<void> {
  const deadline = performance.now() + RECOVERED_WITHIN_MS;
  for (;;) {
    const { answer } = await requestAs(client);
    if (answer.status === status) return;
    assert.ok(performance.now() < deadline, `${answer.status} instead of ${status}`);
    await delay(5);
  }
}
