import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { findFreePort } from '../sandbox/production-settings.ts';
import { startHttpReceiver } from '../support/http-receiver.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { type CliEnd, createCli, documentsOf, loginOf } from './cli-process.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service?.close());

async function doctor(environment: Readonly<Record<string, string>>): Promise<CliEnd & { readonly found: string[] }> {
  const cli = await createCli(environment);
  try {
    const end = await cli.run(['doctor', '--json']);
    const found = documentsOf(end).map(({ check, state, message }) => [state, check, message].join(' '));
    return { ...end, found };
  } finally {
    await cli.remove();
  }
}

suite('tiba doctor', () => {
  test('finds all well: login, network, clock, token, scopes and what is left of each limit', async () => {
    const { code, found } = await doctor(loginOf(service));
    assert.equal(code, 0);
    assert.deepEqual(
      found.map((line) => line.split(' ', 2).join(' ')),
      ['program', 'login', 'dns', 'network', 'tls', 'service', 'clock', 'token', 'scopes']
        .concat(Array.from({ length: 5 }, () => 'limit'))
        .map((check) => `ok ${check}`),
    );
    assert.match(found.join('\n'), /ok limit check-status: 999999 of 1000000 requests in 60 s are left/);
  });

  test('warns of scopes that are missing and of a limit that is used up', async () => {
    const few = await service.addClient('few', ['status:read'], { 'check-status': 1 });
    const { code, found } = await doctor(loginOf(service, few));
    assert.equal(code, 0);
    assert.match(found.join('\n'), /warning scopes status:read\nwarning limit check-status: 0 of 1 requests/);
  });

  test('without a login, with a wrong secret, and where nothing listens, it says what to do', async () => {
    assert.equal((await doctor({})).code, 4);
    const wrong = await doctor({ ...loginOf(service), TIBA_CLIENT_SECRET: 'wrong' });
    assert.equal(wrong.code, 4);
    assert.match(wrong.found.at(-1) ?? '', /^failed token LOGIN_FAILED/);
    const port = await findFreePort();
    const away = await doctor({ ...loginOf(service), TIBA_URL: `http://127.0.0.1:${port}` });
    assert.equal(away.code, 1);
    assert.equal(away.found.at(-1), `failed network 127.0.0.1 port ${port} refuses the connection`);
  });

  test('a clock that is off, and another program at the address', async () => {
    let behindMs = 600_000;
    let body = '{"info":{"title":"Tiba","version":"1"}}';
    const receiver = await startHttpReceiver({
      respond: (response) => response.writeHead(200, { date: new Date(Date.now() - behindMs).toUTCString() }).end(body),
    });
    try {
      const at = { ...loginOf(service), TIBA_URL: receiver.url };
      assert.match((await doctor(at)).found.at(-1) ?? '', /^failed clock (?:59\d|60\d) s ahead of that of the service/);
      behindMs = 0;
      body = '<html>';
      assert.match((await doctor(at)).found.at(-1) ?? '', /^failed service what answers is not Tiba: HTTP 200/);
    } finally {
      await receiver.close();
    }
  });
});
