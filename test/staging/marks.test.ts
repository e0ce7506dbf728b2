import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openRawConnection } from '../contract/raw-connection.ts';
import { send, startTestService, type TestService } from '../support/service.ts';

/** TIBA_STAGING marks everything that a rehearsal shows, so that it is not taken for production. */

const STAGING = 'staging';
const ADDRESS_MAX = 30;

describe('a service in its staging form', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ settings: { staging: true, snapPort: 0, connectionsPerAddress: ADDRESS_MAX } });
  });
  after(() => service?.close());

  const markOf = (answer: { readonly headers: Headers } | null): string | null | undefined =>
    answer?.headers.get('tiba-environment');

  it('marks every answer of every listener', async () => {
    const answers = await Promise.all([
      service.get('/api/v1/check-status/TB0000000001'),
      service.get('/api/v1/check-status/TB0000000001', { token: null }),
      service.checkAccount({ bank_code: 'BCA', account_number: '1234567890' }),
      service.checkAccount('{'),
      service.get('/none'),
      service.get('/openapi.json', { method: 'HEAD' }),
      service.feed([]),
      ...['/livez', '/readyz', '/metrics', '/none'].map((path) => send(`${service.operatorUrl}${path}`, {})),
      send(`${service.app.snapUrl}/v1.0/access-token/b2b`, { method: 'POST' }),
      send(`${service.app.snapUrl}/none`, {}),
    ]);
    assert.deepEqual(new Set(answers.map(({ status }) => Math.floor(status / 100))), new Set([2, 4]));
    assert.deepEqual(new Set(answers.map(markOf)), new Set([STAGING]));
  });

  it('marks answers to what is no request, and to connections beyond the limit', async () => {
    for (const bytes of ['nonsense\r\n\r\n', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n']) {
      const connection = await openRawConnection(service.url);
      connection.send(bytes);
      assert.equal(markOf(await connection.read()), STAGING);
      connection.end();
      await connection.closed;
    }
    const open = await Promise.all(Array.from({ length: ADDRESS_MAX + 1 }, () => openRawConnection(service.url)));
    const refused = await open.at(-1)?.read();
    assert.equal(refused?.status, 503);
    assert.equal(markOf(refused ?? null), STAGING);
    for (const connection of open) connection.end();
  });

  it('says so at start, in /readyz, which stays 200, and in a metric', async () => {
    const warning = service.logged.find(
      ({ level, msg }) => level === 40 && String(msg).startsWith('staging: banks may'),
    );
    assert.ok(warning !== undefined);
    const ready = await send(`${service.operatorUrl}/readyz`, {});
    assert.equal(ready.status, 200);
    assert.match(ready.text, /"status":"ok".*"staging":"TIBA_STAGING: this is a rehearsal/);
    assert.match((await send(`${service.operatorUrl}/metrics`, {})).text, /^tiba_staging 1$/m);
  });
});

describe('a service that is not in its staging form', () => {
  it('has none of these marks', async () => {
    const service = await startTestService();
    try {
      const answers = await Promise.all([service.get('/none'), send(`${service.operatorUrl}/readyz`, {})]);
      assert.ok(answers.every(({ headers, text }) => !headers.has('tiba-environment') && !text.includes('staging')));
      assert.match((await send(`${service.operatorUrl}/metrics`, {})).text, /^tiba_staging 0$/m);
    } finally {
      await service.close();
    }
  });
});
