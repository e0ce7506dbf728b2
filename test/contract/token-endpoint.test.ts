import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { createSeal } from '../../apps/server/src/auth/secrets.ts';
import { rotateSigningKeys, SIGNING_ALGORITHMS } from '../../apps/server/src/auth/signing-keys.ts';
import { SECRET_KEY_BYTES } from '../../apps/server/src/config/values.ts';
import { changeClient } from '../../apps/server/src/postgres/clients.ts';
import { documentOf, responseOf } from '../support/openapi.ts';
import {
  type Answer,
  CLIENT_SCOPES,
  send,
  startTestService,
  statusUpdate,
  type TestClient,
  type TestService,
} from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { assertError } from './assertions.ts';
import { testSeal } from './tokens.ts';
import { until, untilStatus } from './until.ts';

/** docs/contract.md 5.1, the built-in issuer: RFC 6749 (section 4.4), RFC 8414, RFC 7517 and RFC 9068. */

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service?.close());

type Form = Readonly<Record<string, string>> | string;

const post = (form: Form, headers: Record<string, string> = {}): Promise<Answer> =>
  send(`${service.url}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: typeof form === 'string' ? form : new URLSearchParams(form).toString(),
  });

const basic = ({ clientId, clientSecret }: Pick<TestClient, 'clientId' | 'clientSecret'>): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
});
const inBody = ({ clientId, clientSecret }: TestClient): Record<string, string> => ({
  client_id: clientId,
  client_secret: clientSecret,
});
const GRANT = { grant_type: 'client_credentials' };

const fields = ({ text }: Answer): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;
const tokenOf = (answer: Answer): string => String(fields(answer)['access_token']);

/** RFC 6749, section 5.2. */
function assertOAuthError(answer: Answer, status: number, error: string): void {
  assert.equal(fields(answer)['error'], error, answer.text);
  assert.equal(answer.status, status);
  assert.deepEqual(Object.keys(fields(answer)), ['error', 'error_description']);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.equal(answer.headers.get('www-authenticate'), status === 401 ? 'Basic realm="tiba"' : null);
}

const jwks = async (): Promise<JSONWebKeySet> => fields(await service.get('/oauth/jwks')) as unknown as JSONWebKeySet;

suite('a token for client credentials', () => {
  test('by HTTP Basic and in the body: an answer in the form of RFC 6749, section 5.1', async () => {
    for (const answer of [
      await post(GRANT, basic(service.alpha)),
      await post({ ...GRANT, ...inBody(service.alpha) }),
    ]) {
      assert.equal(answer.status, 200, answer.text);
      const { access_token, ...others } = fields(answer);
      assert.equal(typeof access_token, 'string');
      assert.deepEqual(others, { token_type: 'Bearer', expires_in: 900, scope: CLIENT_SCOPES.join(' ') });
      assert.equal(answer.headers.get('cache-control'), 'no-store');
      assert.equal(answer.headers.get('pragma'), 'no-cache');
    }
  });

  test('is accepted by the operations', async () => {
    const token = tokenOf(await post(GRANT, basic(service.alpha)));
    assertError(await service.get('/api/v1/check-status/NONE', { token }), 'TRANSACTION_NOT_FOUND');
    assertError(await service.checkAccount({}, { token }), 'INVALID_BANK_CODE');
  });

  test('is an RFC 9068 JWT of 15 minutes, signed by a published key', async () => {
    const token = tokenOf(await post(GRANT, basic(service.alpha)));
    const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(await jwks()), {
      issuer: service.url,
      audience: service.url,
      typ: 'at+jwt',
      subject: 'alpha',
    });
    assert.ok((await jwks()).keys.some(({ kid }) => kid === protectedHeader.kid));
    const names = ['client_id', 'scope', 'iss', 'aud', 'sub', 'iat', 'exp', 'jti'];
    assert.deepEqual(Object.keys(payload).sort(), names.sort());
    assert.equal(payload['client_id'], 'alpha');
    assert.equal(payload['scope'], CLIENT_SCOPES.join(' '));
    assert.equal(Number(payload.exp) - Number(payload.iat), 900);
  });

  test('has a jti of its own', async () => {
    const tokens = [tokenOf(await post(GRANT, basic(service.alpha))), tokenOf(await post(GRANT, basic(service.alpha)))];
    assert.equal(new Set(tokens.map((token) => decodeJwt(token).jti)).size, 2);
  });

  test('has the requested scopes only', async () => {
    const answer = await post({ ...GRANT, scope: 'status:read' }, basic(service.alpha));
    assert.equal(fields(answer)['scope'], 'status:read');
    assertError(await service.checkAccount({}, { token: tokenOf(answer) }), 'FORBIDDEN');
  });

  test('client_id and secret are form-encoded before they are joined (RFC 6749, section 2.3.1)', async () => {
    const odd = await service.addClient('odd: client/ü%', ['status:read']);
    const encoded = {
      clientId: encodeURIComponent(odd.clientId).replaceAll('%20', '+'),
      clientSecret: odd.clientSecret,
    };
    assert.equal((await post(GRANT, basic(encoded))).status, 200);
    assert.equal((await post({ ...GRANT, ...inBody(odd) })).status, 200);
  });
});

suite('errors of the token endpoint (RFC 6749, section 5.2)', () => {
  test('invalid_client: 401 for a wrong secret, an unknown client, no credentials, malformed credentials', async () => {
    const { alpha, beta } = service;
    for (const answer of [
      await post(GRANT, basic({ clientId: 'alpha', clientSecret: 'wrong' })),
      await post(GRANT, basic({ clientId: 'alpha', clientSecret: '' })),
      await post(GRANT, basic({ clientId: 'alpha', clientSecret: beta.clientSecret })),
      await post(GRANT, basic({ clientId: 'unknown-client', clientSecret: alpha.clientSecret })),
      await post({ ...GRANT, client_id: 'alpha', client_secret: 'wrong' }),
      await post({ ...GRANT, client_id: 'alpha' }),
      await post({ ...GRANT, client_secret: alpha.clientSecret }),
      await post(GRANT),
      await post(''),
      await post(GRANT, { authorization: 'Basic !!!' }),
      await post(GRANT, { authorization: `Bearer ${alpha.token}` }),
    ]) {
      assertOAuthError(answer, 401, 'invalid_client');
    }
  });

  test('invalid_client: 401 for a disabled client within one second', async () => {
    const client = await service.addClient('out', ['status:read']);
    await changeClient(service.app.database, 'out', 'disable');
    const startedMs = performance.now();
    assertOAuthError(await untilStatus(401, () => post(GRANT, basic(client))), 401, 'invalid_client');
    assert.ok(performance.now() - startedMs < timeLimitMs(1_000));
  });

  test('invalid_request: 400 without grant_type, and for a parameter given twice', async () => {
    assertOAuthError(await post('', basic(service.alpha)), 400, 'invalid_request');
    assertOAuthError(await post({ scope: 'status:read' }, basic(service.alpha)), 400, 'invalid_request');
    const twice = 'grant_type=client_credentials&grant_type=client_credentials';
    assertOAuthError(await post(twice, basic(service.alpha)), 400, 'invalid_request');
    assertOAuthError(await post(`${twice}&x=1`, basic(service.alpha)), 400, 'invalid_request');
  });

  test('a body over 4 KiB is PAYLOAD_TOO_LARGE; the longest valid token request fits', async () => {
    // Regression: each name was searched among all others, which took half a second for a body of 16 KiB.
    const names = Array.from({ length: 4_200 }, (_, index) => index.toString(36));
    assertError(await post([...names, names.at(-1)].join('&')), 'PAYLOAD_TOO_LARGE');
    const { clientId, clientSecret } = await service.addClient('𝒳'.repeat(64), CLIENT_SCOPES);
    const answer = await post({
      ...GRANT,
      client_id: clientId,
      client_secret: clientSecret,
      scope: CLIENT_SCOPES.join(' '),
    });
    assert.equal(answer.status, 200, answer.text);
  });

  test('invalid_request: 400 for a client that authenticates by Basic and in the body at once', async () => {
    const answer = await post({ ...GRANT, ...inBody(service.alpha) }, basic(service.alpha));
    assertOAuthError(answer, 400, 'invalid_request');
  });

  test('unsupported_grant_type: 400 for every other grant', async () => {
    for (const grant_type of ['password', 'authorization_code', 'refresh_token', 'CLIENT_CREDENTIALS', '']) {
      assertOAuthError(await post({ grant_type }, basic(service.alpha)), 400, 'unsupported_grant_type');
    }
  });

  test('invalid_scope: 400 for a scope that is unknown or not the client’s', async () => {
    for (const scope of [
      'feed:write',
      'status:read feed:write',
      'unknown',
      'STATUS:READ',
      'status:read,account:check',
    ]) {
      assertOAuthError(await post({ ...GRANT, scope }, basic(service.alpha)), 400, 'invalid_scope');
    }
  });

  test('a form is read whatever charset it names: it has ASCII only', async () => {
    const type = 'application/x-www-form-urlencoded; charset=ISO-8859-1';
    assert.equal((await post(GRANT, { ...basic(service.alpha), 'content-type': type })).status, 200);
  });

  test('another content type, method or size is an error in the envelope (docs/contract.md 2.1)', async () => {
    const other = { 'content-type': 'text/plain', ...basic(service.alpha) };
    assertError(await post(GRANT, other), 'UNSUPPORTED_MEDIA_TYPE', /application\/x-www-form-urlencoded/);
    // Regression: a JSON body was ignored, and the error was that grant_type is missing.
    const json = { 'content-type': 'application/json', ...basic(service.alpha) };
    const answer = await post(JSON.stringify(GRANT), json);
    assertError(answer, 'UNSUPPORTED_MEDIA_TYPE', /application\/x-www-form-urlencoded/);
    assertError(await service.get('/oauth/token'), 'METHOD_NOT_ALLOWED');
    assertError(await post({ ...GRANT, x: 'x'.repeat(5_000) }, basic(service.alpha)), 'PAYLOAD_TOO_LARGE');
  });
});

suite('published documents', () => {
  test('metadata in the form of RFC 8414, section 2', async () => {
    const answer = await service.get('/.well-known/oauth-authorization-server', { token: null });
    assert.equal(answer.status, 200);
    const metadata = fields(answer);
    assert.equal(metadata['issuer'], service.url);
    assert.equal(metadata['token_endpoint'], `${service.url}/oauth/token`);
    assert.equal(metadata['jwks_uri'], `${service.url}/oauth/jwks`);
    assert.deepEqual(metadata['grant_types_supported'], ['client_credentials']);
    assert.deepEqual(metadata['token_endpoint_auth_methods_supported'], ['client_secret_basic', 'client_secret_post']);
    assert.ok(Array.isArray(metadata['response_types_supported']));
    for (const scope of ['status:read', 'account:check'])
      assert.ok((metadata['scopes_supported'] as string[]).includes(scope));
  });

  test('public keys only, each with kid, alg and use', async () => {
    const { keys } = await jwks();
    assert.ok(keys.length > 0);
    for (const key of keys) {
      assert.ok(key.kid !== undefined && key.alg !== undefined && key.use === 'sig');
      for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) assert.ok(!Object.hasOwn(key, secret), secret);
    }
  });
});

suite('signing keys rotate', () => {
  test('not with another secret key: no process could open the new key to verify tokens', async () => {
    const before = await jwks();
    const otherSeal = createSeal(Buffer.alloc(SECRET_KEY_BYTES, 9));
    await assert.rejects(
      rotateSigningKeys(service.app.database, otherSeal, 'EdDSA'),
      /TIBA_SECRET_KEY is not the key that sealed/,
    );
    assert.deepEqual(await jwks(), before);
    assertError(await service.get('/api/v1/check-status/NONE'), 'TRANSACTION_NOT_FOUND');
  });

  for (const algorithm of SIGNING_ALGORITHMS) {
    test(`to ${algorithm}: old tokens stay valid, new ones use the new key`, async () => {
      const old = tokenOf(await post(GRANT, basic(service.alpha)));
      const keyId = await rotateSigningKeys(service.app.database, testSeal, algorithm);
      const isNew = (answer: Answer): boolean => decodeProtectedHeader(tokenOf(answer)).kid === keyId;
      const token = tokenOf(await until(isNew, () => post(GRANT, basic(service.alpha))));
      assert.deepEqual(decodeProtectedHeader(token), { alg: algorithm, typ: 'at+jwt', kid: keyId });
      for (const each of [token, old]) {
        assertError(await service.get('/api/v1/check-status/NONE', { token: each }), 'TRANSACTION_NOT_FOUND');
        await jwtVerify(each, createLocalJWKSet(await jwks()));
      }
    });
  }
});

test('the operator listener issues the same tokens, for systems that reach only it', async () => {
  const logIn = (form: Form, headers: Record<string, string> = {}): Promise<Answer> =>
    send(`${service.operatorUrl}/oauth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(form).toString(),
    });
  const answer = await logIn(GRANT, basic(service.core));
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  const fed = await send(`${service.operatorUrl}/feed/v1/transactions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokenOf(answer)}`, 'content-type': 'application/json' },
    body: JSON.stringify(statusUpdate({ transaction_id: 'TB7777777777', reference_id: 'operator login' })),
  });
  assert.equal(fed.status, 200, fed.text);
  const ofClient = await logIn({ ...GRANT, ...inBody(service.alpha) });
  assertError(await service.get('/api/v1/check-status/NONE', { token: tokenOf(ofClient) }), 'TRANSACTION_NOT_FOUND');

  const refused = await logIn({ ...GRANT, client_id: 'core', client_secret: 'wrong' }, { 'accept-language': 'id' });
  assertOAuthError(refused, 401, 'invalid_client');
  assert.match(refused.text, /unknown client, wrong secret/, 'the operator listener answers in English only');
  assert.equal(refused.headers.get('content-language'), 'en');
});

// Regression: openapi.json described Content-Language, which only the errors have.
test('the successes of the issuer have each header that openapi.json describes', async () => {
  const document = documentOf('public');
  const answers = {
    '/oauth/token': await post(GRANT, basic(service.alpha)),
    '/oauth/jwks': await service.get('/oauth/jwks', { token: null }),
    '/.well-known/oauth-authorization-server': await service.get('/.well-known/oauth-authorization-server'),
  };
  for (const [path, { status, headers }] of Object.entries(answers)) {
    const [operation = assert.fail(path)] = Object.values(document.paths[path] ?? {});
    const described = responseOf(document, operation, String(status))?.headers ?? assert.fail(path);
    assert.deepEqual(
      Object.keys(described).filter((name) => !headers.has(name)),
      [],
      path,
    );
  }
});
