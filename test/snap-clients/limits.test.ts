import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addSnapClient,
  asymmetricSignature,
  call,
  jakartaNow,
  newExternalId,
  post,
  requestToken,
  startSnapService,
} from './snap-client.ts';

test('120 status requests and 100 account checks a minute hold over both listeners together', async (t) => {
  let nowMs = 0;
  const service = await startSnapService({ limits: {}, limitClock: () => nowMs });
  t.after(service.close);
  const shop = await addSnapClient(service, 'alpha');
  const token = String((await requestToken(service.snapUrl, shop)).body['accessToken']);
  const account = { beneficiaryBankCode: '014', beneficiaryAccountNo: '1234567890' };
  const operations = {
    'check-account': {
      limit: 100,
      json: () => service.checkAccount({ bank_code: '014', account_number: '1234567890' }),
      snap: () => call(service.snapUrl, shop, token, account),
      service: '16',
    },
    'check-status': {
      limit: 120,
      json: () => service.get('/api/v1/check-status/TB0000000404'),
      snap: () =>
        call(
          service.snapUrl,
          shop,
          token,
          { originalReferenceNo: 'TB0000000404', serviceCode: '18' },
          { path: '/v1.0/transfer/status' },
        ),
      service: '36',
    },
  };
  for (const [name, { limit, json, snap, service: code }] of Object.entries(operations)) {
    const answers = await Promise.all(
      Array.from({ length: limit + 20 }, (_, index) => (index % 2 === 0 ? json : snap)()),
    );
    const admitted = answers.filter(({ status }) => status !== 429);
    assert.equal(admitted.length, limit, name);
    const refused = await snap();
    assert.equal(refused.body['responseCode'], `429${code}00`);
    assert.equal(refused.headers.get('retry-after'), '60');
    assert.equal(refused.headers.get('ratelimit'), `"${name}";r=0;t=60`);
    assert.equal((await json()).status, 429);
  }
  nowMs += 60_000;
  assert.equal((await operations['check-account'].snap()).status, 200);
});

test('an X-EXTERNAL-ID that one process has seen is a conflict at another', async (t) => {
  const first = await startSnapService();
  t.after(first.close);
  const second = await startSnapService({ database: first.database, rails: [] });
  t.after(second.close);
  const shop = await addSnapClient(first, 'alpha');
  await second.app.clients.reload();
  const token = String((await requestToken(first.snapUrl, shop)).body['accessToken']);
  const account = { beneficiaryBankCode: '014', beneficiaryAccountNo: '1234567890' };
  const externalId = newExternalId();
  assert.equal((await call(first.snapUrl, shop, token, account, { externalId })).status, 200);
  // A token's issuer is the address of the process that issued it.
  const own = String((await requestToken(second.snapUrl, shop)).body['accessToken']);
  assert.equal((await call(second.snapUrl, shop, own, account, { externalId })).body['responseCode'], '4091600');
});

test('failed authentications are throttled, right ones are not', async (t) => {
  const settings = { authenticationFailuresPerMinute: 3 };
  const service = await startSnapService({ rails: [], settings });
  t.after(service.close);
  const shop = await addSnapClient(service, 'alpha');
  const forger = { ...shop, keys: (await addSnapClient(service, 'beta')).keys };
  const codes: unknown[] = [];
  for (let times = 0; times < 5; times += 1)
    codes.push((await requestToken(service.snapUrl, forger)).body['responseCode']);
  assert.deepEqual(codes, ['4017300', '4017300', '4017300', '4297300', '4297300']);
  assert.equal((await requestToken(service.snapUrl, shop)).status, 200);
});

test('service 15 without a bank of its own is a 405 with an empty Allow (RFC 9110, section 10.2.1)', async (t) => {
  const service = await startSnapService({ rails: [], settings: { snapOwnBank: null } });
  t.after(service.close);
  const shop = await addSnapClient(service, 'alpha');
  const token = String((await requestToken(service.snapUrl, shop)).body['accessToken']);
  const account = { beneficiaryAccountNo: '1234567890' };
  const { body, headers } = await call(service.snapUrl, shop, token, account, {
    path: '/v1.0/account-inquiry-internal',
  });
  assert.deepEqual([body['responseCode'], headers.get('allow')], ['4051500', '']);
  // Regression: GET was answered with `Allow: POST`, which has the same answer.
  for (const method of ['GET', 'POST', 'PROPFIND']) {
    const refused = await fetch(`${service.snapUrl}/snap/v1/account-inquiry-internal`, { method });
    assert.deepEqual([refused.status, refused.headers.get('allow')], [405, ''], method);
    assert.deepEqual(await refused.json(), {
      responseCode: '4051500',
      responseMessage:
        'Requested Function Is Not Supported [the operator has no bank of its own: use account-inquiry-external]',
    });
  }
});

// Regression: each signed request of a client whose clock is right was refused until the process was taken out.
test('a process whose clock is a day ahead accepts what is signed now, and names the right time', async (t) => {
  const service = await startSnapService({ rails: [], wallClock: () => Date.now() });
  t.after(service.close);
  const shop = await addSnapClient(service, 'alpha');
  const path = '/v1.0/transfer/status';
  const body = '{"originalPartnerReferenceNo":"NONE","serviceCode":"18"}';
  const timestamp = jakartaNow();
  const headers = {
    'x-timestamp': timestamp,
    'x-signature': asymmetricSignature(shop.keys.privateKey, path, body, timestamp).toString('base64'),
    'x-partner-id': 'alpha',
    'x-external-id': newExternalId(),
    'channel-id': '1',
  };
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 24 * 3_600_000 });
  const answer = await post(service.snapUrl + path, headers, body);
  assert.equal(answer.body['responseCode'], '4043601', answer.text);
  const aheadMs = Date.parse(answer.headers.get('x-timestamp') ?? '') - Date.parse(timestamp);
  assert.ok(Math.abs(aheadMs) < 60_000, `${aheadMs} ms ahead`);
});
