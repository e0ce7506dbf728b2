import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { storedChecks } from '../account-checks/stored-checks.ts';
import { eventually } from '../support/eventually.ts';
import type { TestService } from '../support/service.ts';
import {
  addSnapClient,
  asymmetricSignature,
  call,
  jakartaNow,
  newExternalId,
  post,
  requestToken,
  type SnapClient,
  startSnapService,
} from './snap-client.ts';

let service: TestService & { readonly snapUrl: string };
let shop: SnapClient;
let token: string;

const EXTERNAL = '/v1.0/account-inquiry-external';
const INTERNAL = '/v1.0/account-inquiry-internal';
const inquiry = (digits: string, bankCode = '014') => ({
  beneficiaryBankCode: bankCode,
  beneficiaryAccountNo: digits,
  partnerReferenceNo: 'ORDER-1',
});

before(async () => {
  service = await startSnapService();
  shop = await addSnapClient(service, 'alpha', { partnerId: 'SHOP' });
  token = String((await requestToken(service.snapUrl, shop)).body['accessToken']);
});

after(() => service?.close());

suite('service 73, access token', () => {
  test('a signed request gets a token of the two scopes that SNAP needs', async () => {
    const { status, headers, body } = await requestToken(service.snapUrl, shop);
    const { accessToken, ...rest } = body;
    assert.deepEqual([status, rest], [200, { ...SUCCESSFUL('73'), tokenType: 'Bearer', expiresIn: '900' }]);
    assert.ok(String(accessToken).length <= 2_048);
    assert.equal(headers.get('x-client-key'), 'alpha');
    assert.match(headers.get('x-timestamp') ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+07:00$/);
    const json = { token: String(accessToken) };
    assert.equal((await service.get('/api/v1/check-status/TB0000000404', json)).status, 404);
    assert.equal((await service.get('/api/v1/events', json)).status, 403);
  });

  test('a wrong signature, an unknown client and one without keys are told apart by nothing', async () => {
    const beta = { ...shop, clientId: 'beta' };
    const unknown = { ...shop, clientId: 'unknown' };
    const forged = {
      ...shop,
      keys: { ...shop.keys, privateKey: (await addSnapClient(service, 'core')).keys.privateKey },
    };
    const answers = await Promise.all([beta, unknown, forged].map((each) => requestToken(service.snapUrl, each)));
    const expected = {
      responseCode: '4017300',
      responseMessage: 'Unauthorized. [X-CLIENT-KEY or X-SIGNATURE is wrong]',
    };
    for (const { status, body } of answers) assert.deepEqual([status, body], [401, expected]);
  });

  test('of a client whose clock may be off by a day, a token request is still too old after five minutes', async () => {
    const beta = await addSnapClient(service, 'beta', { clockSkewSeconds: 86_400 });
    const replayed = await requestToken(service.snapUrl, beta, jakartaNow(-310_000));
    assert.deepEqual(replayed.body, {
      responseCode: '4017300',
      responseMessage: 'Unauthorized. [X-TIMESTAMP is more than 300 s off]',
    });
    const betaToken = String((await requestToken(service.snapUrl, beta, jakartaNow(-200_000))).body['accessToken']);
    const timestamp = jakartaNow(-3_600_000);
    const { status } = await call(service.snapUrl, beta, betaToken, inquiry('1234567890'), { timestamp });
    assert.equal(status, 200, 'the setting holds for the other services');
  });

  test('timestamps with milliseconds and Z are accepted, and one of ten minutes ago is not', async () => {
    const utc = new Date().toISOString();
    const spellings = [utc, utc.replace('Z', '-00:00'), utc.replace(/\.\d+Z/, 'Z')];
    const answers = await Promise.all(spellings.map((each) => requestToken(service.snapUrl, shop, each)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    );
    const { body } = await requestToken(service.snapUrl, shop, jakartaNow(-600_000));
    assert.equal(body['responseCode'], '4017300');
    const malformed = await requestToken(service.snapUrl, shop, '2026-11-21');
    assert.deepEqual(malformed.body, {
      responseCode: '4007301',
      responseMessage: 'Invalid Field Format [X-TIMESTAMP: a time with a time zone, such as 2026-11-21T11:32:26+07:00]',
    });
  });
});

const SUCCESSFUL = (service: string) => ({ responseCode: `200${service}00`, responseMessage: 'Successful' });

suite('services 15 and 16, account inquiry', () => {
  test('an active account: its holder and its bank', async () => {
    const [external, internal] = await Promise.all([
      call(service.snapUrl, shop, token, inquiry('1234567890')),
      call(service.snapUrl, shop, token, inquiry('1234567890'), { path: INTERNAL }),
    ]);
    const json = await service.checkAccount({ bank_code: '014', account_number: '1234567890' });
    const account = {
      partnerReferenceNo: 'ORDER-1',
      beneficiaryAccountName: json.json.data?.['account_name'],
      beneficiaryAccountNo: '1234567890',
      currency: 'IDR',
    };
    const { referenceNo, ...rest } = external.body;
    assert.equal(referenceNo, external.headers.get('x-request-id'));
    assert.deepEqual(
      [external.status, rest],
      [
        200,
        {
          ...SUCCESSFUL('16'),
          ...account,
          beneficiaryBankCode: '014',
          beneficiaryBankName: json.json.data?.['bank_name'],
        },
      ],
    );
    assert.deepEqual(
      [internal.status, { ...internal.body, referenceNo: 0 }],
      [200, { ...SUCCESSFUL('15'), ...account, referenceNo: 0, beneficiaryAccountStatus: 'Rekening aktif' }],
    );
  });

  /** The last four digits choose the simulated bank's answer (docs/simulated-bank.md). */
  const outcomes: readonly (readonly [string, string, string])[] = [
    ['a closed or dormant account', '1234560410', '403ss18'],
    ['an account that does not exist', '1234560404', '404ss11'],
    ['a blocked account', '1234560403', '403ss05'],
    ['a bank that cannot answer', '1234560503', '500ss02'],
    ['a bank that is silent', '1234560504', '504ss00'],
  ];
  test('each outcome has its code, with services 15 and 16', async (t) => {
    for (const [name, digits, code] of outcomes) {
      await t.test(name, async () => {
        for (const [path, ss] of [
          [EXTERNAL, '16'],
          [INTERNAL, '15'],
        ] as const) {
          const { status, headers, body } = await call(service.snapUrl, shop, token, inquiry(digits), { path });
          assert.equal(body['responseCode'], code.replace('ss', ss));
          assert.equal(status, Number(code.slice(0, 3)));
          assert.equal(body['beneficiaryAccountName'], undefined);
          assert.equal(headers.has('retry-after'), status >= 500);
        }
      });
    }
  });

  test('fields that are missing, malformed or unknown', async () => {
    const cases: readonly (readonly [unknown, string, string])[] = [
      [{ beneficiaryAccountNo: '1234567890' }, '4001602', 'beneficiaryBankCode'],
      [{ beneficiaryBankCode: '014' }, '4001602', 'beneficiaryAccountNo'],
      [inquiry('12345'), '4001601', 'beneficiaryAccountNo'],
      [inquiry('12345x7890'), '4001601', 'beneficiaryAccountNo'],
      [{ ...inquiry('1234567890'), partnerReferenceNo: 'x'.repeat(65) }, '4001601', 'partnerReferenceNo'],
      [inquiry('1234567890', '999'), '4041603', 'beneficiaryBankCode'],
      ['{"beneficiaryBankCode":', '4001600', 'JSON'],
      ['[]', '4001600', 'JSON object'],
    ];
    for (const [body, code, named] of cases) {
      const answer = await call(service.snapUrl, shop, token, body);
      assert.equal(answer.body['responseCode'], code, JSON.stringify(body));
      assert.match(String(answer.body['responseMessage']), new RegExp(named));
      assert.ok(String(answer.body['responseMessage']).length <= 150);
    }
  });
});

suite('a signed request', () => {
  test('in any prefix and version, in base64 and hex, with spaces, slashes and é', async () => {
    const body =
      '{ "beneficiaryBankCode": "014",\n "beneficiaryAccountNo":"1234567890", "additionalInfo": {"a": "é / \\" x"} }';
    const minified = JSON.stringify(JSON.parse(body));
    const paths = ['/snap-service/v1', '/openapi/v2.0', '/v1.1', '/a/b/v1.0'].map(
      (base) => `${base}/account-inquiry-external`,
    );
    for (const path of paths) {
      const answer = await call(service.snapUrl, shop, token, body, { path, encoding: 'hex' });
      assert.equal(answer.body['responseCode'], '2001600', path);
    }
    // A client that signs the minified body, and the path from the version on.
    const timestamp = jakartaNow();
    const { createHash, createHmac } = await import('node:crypto');
    const hash = createHash('sha256').update(minified).digest('hex');
    const text = `POST:${EXTERNAL}:${token}:${hash}:${timestamp}`;
    const headers = { 'x-signature': createHmac('sha512', shop.secret).update(text).digest('base64') };
    const path = `/openapi${EXTERNAL}`;
    const answer = await call(service.snapUrl, shop, token, body, { path, timestamp, headers });
    assert.equal(answer.body['responseCode'], '2001600');
  });

  test('without a token, signed asymmetrically', async () => {
    const body = JSON.stringify(inquiry('1234567890'));
    const timestamp = jakartaNow();
    const headers = {
      'x-timestamp': timestamp,
      'x-partner-id': 'SHOP',
      'x-external-id': newExternalId(),
      'channel-id': '95221',
    };
    const signature = asymmetricSignature(shop.keys.privateKey, EXTERNAL, body, timestamp);
    const answer = await post(
      service.snapUrl + EXTERNAL,
      { ...headers, 'x-signature': signature.toString('base64') },
      body,
    );
    assert.equal(answer.body['responseCode'], '2001600', answer.text);
    const changed = { ...headers, 'x-external-id': newExternalId(), 'x-signature': signature.toString('base64') };
    const forged = await post(service.snapUrl + EXTERNAL, changed, body.replace('7890', '7891'));
    assert.equal(forged.body['responseCode'], '4011600');
  });

  test('that is not authentic, or incomplete', async () => {
    const cases: readonly (readonly [Record<string, string>, string])[] = [
      [{ 'x-signature': Buffer.alloc(64).toString('base64') }, '4011600'],
      [{ 'x-signature': 'not*base64' }, '4001601'],
      [{ 'x-partner-id': 'OTHER' }, '4011600'],
      [{ authorization: `Bearer ${token}x` }, '4011601'],
      [{ authorization: '' }, '4011603'],
      // Within the allowed time, and not the second in which the request is signed.
      [{ 'x-timestamp': jakartaNow(120_000) }, '4011600'],
      [{ 'channel-id': '' }, '4001602'],
      [{ 'x-external-id': 'letters' }, '4001601'],
      [{ 'content-type': 'text/plain' }, '4001600'],
    ];
    for (const [headers, code] of cases) {
      const answer = await call(service.snapUrl, shop, token, inquiry('1234567890'), { headers });
      assert.equal(answer.body['responseCode'], code, JSON.stringify(headers));
    }
    const { body } = await call(service.snapUrl, shop, token, inquiry('1234567890'), {
      timestamp: jakartaNow(-301_000),
    });
    assert.equal(body['responseCode'], '4011600');
  });

  test('that is answered 401 gets a challenge (RFC 9110, section 11.6.1), and only then', async () => {
    const challenge = 'Bearer realm="tiba"';
    const cases: readonly (readonly [Record<string, string>, string, string | null])[] = [
      [{ authorization: `Bearer ${token}x` }, '4011601', `${challenge}, error="invalid_token"`],
      [{ authorization: '' }, '4011603', challenge],
      [{ 'x-partner-id': 'OTHER' }, '4011600', challenge],
      [{ 'channel-id': '' }, '4001602', null],
    ];
    for (const [headers, code, expected] of cases) {
      const answer = await call(service.snapUrl, shop, token, inquiry('1234567890'), { headers });
      assert.deepEqual([answer.body['responseCode'], answer.headers.get('www-authenticate')], [code, expected]);
    }
    const { status, headers } = await requestToken(service.snapUrl, { ...shop, clientId: 'unknown' });
    assert.deepEqual([status, headers.get('www-authenticate')], [401, challenge]);
  });

  test('with an X-EXTERNAL-ID of today is a conflict; another client may use it', async () => {
    const externalId = newExternalId();
    const codes: unknown[] = [];
    for (let times = 0; times < 2; times += 1) {
      codes.push(
        (await call(service.snapUrl, shop, token, inquiry('1234567890'), { externalId })).body['responseCode'],
      );
    }
    assert.deepEqual(codes, ['2001600', '4091600']);
    const beta = await addSnapClient(service, 'beta', { externalIds: 'off' });
    const betaToken = String((await requestToken(service.snapUrl, beta)).body['accessToken']);
    for (let times = 0; times < 2; times += 1) {
      const { body } = await call(service.snapUrl, beta, betaToken, inquiry('1234567890'), { externalId });
      assert.equal(body['responseCode'], '2001600');
    }
  });

  test('of another client, or for another route or method', async () => {
    const other = await addSnapClient(service, 'core', { partnerId: 'CORE' });
    const stolen = await call(service.snapUrl, { ...other, partnerId: 'SHOP' }, token, inquiry('1234567890'));
    assert.equal(stolen.body['responseCode'], '4011600');
    const refused = await requestToken(service.snapUrl, other);
    assert.equal(refused.body['responseCode'], '4037301', 'a client without the scopes');
    const unknown = await call(service.snapUrl, shop, token, {}, { path: '/v1.0/balance-inquiry' });
    assert.deepEqual([unknown.status, unknown.body['responseCode']], [404, '4040002']);
    // Regression: a method that Fastify does not know got the code of no service.
    for (const method of ['GET', 'PROPFIND']) {
      const wrong = await fetch(service.snapUrl + EXTERNAL, { method });
      assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'POST']);
      assert.equal(JSON.parse(await wrong.text()).responseCode, '4051600');
    }
    const oversize = await call(service.snapUrl, shop, token, { x: 'x'.repeat(17_000) });
    assert.deepEqual([oversize.status, oversize.body['responseCode']], [400, '4001600']);
  });

  test('leaves an audit record and no account number in the log', async () => {
    const digits = '9988770011227890';
    const { headers } = await call(service.snapUrl, shop, token, inquiry(digits, '008'));
    const requestId = headers.get('x-request-id');
    await eventually('the check is in the audit log', async () =>
      (await storedChecks(service.database.connection)).some((check) => check.request_id === requestId),
    );
    const line = service.logged.findLast(({ route, responseCode }) => route === EXTERNAL && responseCode === '2001600');
    assert.equal(line?.['listener'], 'snap');
    assert.equal(line?.['clientId'], 'alpha');
    assert.ok(!JSON.stringify(service.logged).includes(digits.slice(0, 12)), 'the number is masked');
    assert.ok(!JSON.stringify(service.logged).includes(shop.secret));
  });
});
