import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { openRawConnection } from '../contract/raw-connection.ts';
import { answerActive, type ScriptedBank, startScriptedBank } from '../rails/scripted-bank.ts';
import { eventually } from '../support/eventually.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { probeStatus } from './request-monitor.ts';

let bank: ScriptedBank;
/** Releases the bank's answers. */
let released: PromiseWithResolvers<void>;
before(async () => {
  bank = await startScriptedBank({
    async inquiry(request, response) {
      await released.promise;
      await answerActive(request, response);
    },
  });
});
after(() => bank?.close());
beforeEach(() => {
  released = Promise.withResolvers();
});

const acceptsConnections = (url: string): Promise<boolean> =>
  openRawConnection(url).then(
    (connection) => {
      connection.end();
      return true;
    },
    () => false,
  );

const start = (stopDelaySeconds: number): Promise<TestService> =>
  startTestService({ rails: [bank.rail(rsaKeys())], settings: { stopDelaySeconds } });

// /readyz said 200 for another 3 s after SIGTERM, while the public port already refused connections.
test('a service that stops is not ready before it refuses connections', async () => {
  const service = await start(0);
  try {
    const inquired = bank.inquiries.length;
    const inFlight = service.checkAccount({ bank_code: '014', account_number: '1234567890' });
    await eventually('a request is in flight', () => bank.inquiries.length > inquired);
    const closing = service.app.close();
    await eventually('connections are refused', async () => !(await acceptsConnections(service.url)));
    // The operator listener closes at the same time: a probe that is refused fails as well.
    const readiness = await probeStatus(service, '/readyz').catch(() => 'refused');
    assert.ok(readiness === 503 || readiness === 'refused', `/readyz says ${readiness}`);
    released.resolve();
    assert.equal((await inFlight).status, 200);
    await closing;
  } finally {
    released.resolve();
    await service.close();
  }
});

test('a service that stops answers requests for TIBA_STOP_DELAY_SECONDS after /readyz says 503', async () => {
  const service = await start(1);
  try {
    const startedMs = performance.now();
    const closing = service.app.close();
    assert.equal(await probeStatus(service, '/readyz'), 503);
    assert.equal((await service.get('/api/v1/check-status/TB0000000001')).status, 404);
    await closing;
    assert.ok(performance.now() - startedMs >= 990);
    assert.equal(await acceptsConnections(service.url), false);
  } finally {
    await service.close();
  }
});
