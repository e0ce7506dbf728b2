import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import * as oauth from 'oauth4webapi';
import { parseList } from 'structured-headers';
import { startTestService, type TestClient, type TestService } from '../support/service.ts';

/** Other people's implementations of the standards read what the service sends: OAuth 2.0 and structured fields. */

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service?.close());

suite('oauth4webapi as the client of the built-in issuer', () => {
  /** The tests use plain HTTP, which the library refuses unless told. */
  const insecure = { [oauth.allowInsecureRequests]: true } as const;

  const discover = async (expected: URL): Promise<oauth.AuthorizationServer> =>
    oauth.processDiscoveryResponse(
      expected,
      await oauth.discoveryRequest(new URL(service.url), { algorithm: 'oauth2', ...insecure }),
    );

  async function logIn(client: TestClient, authenticate: (secret: string) => oauth.ClientAuth, scope?: string) {
    const server = await discover(new URL(service.url));
    const identity = { client_id: client.clientId };
    const parameters: Record<string, string> = scope === undefined ? {} : { scope };
    const authentication = authenticate(client.clientSecret);
    const response = await oauth.clientCredentialsGrantRequest(server, identity, authentication, parameters, insecure);
    return { server, token: await oauth.processClientCredentialsResponse(server, identity, response) };
  }

  for (const [method, authenticate] of [
    ['client_secret_basic', oauth.ClientSecretBasic],
    ['client_secret_post', oauth.ClientSecretPost],
  ] as const) {
    test(`discovers the issuer and logs in by ${method}; the token is an RFC 9068 access token`, async () => {
      const { server, token } = await logIn(service.alpha, authenticate, 'status:read');
      assert.ok(server.token_endpoint_auth_methods_supported?.includes(method));
      assert.deepEqual([token.token_type, token.expires_in, token.scope], ['bearer', 900, 'status:read']);
      const request = new Request(service.url, { headers: { authorization: `Bearer ${token.access_token}` } });
      const claims = await oauth.validateJwtAccessToken(server, request, service.url, insecure);
      assert.deepEqual([claims.client_id, claims.iss, claims['scope']], ['alpha', service.url, 'status:read']);
      const answer = await service.get('/api/v1/check-status/NONE', { token: token.access_token });
      assert.equal(answer.json.error_code, 'TRANSACTION_NOT_FOUND');
    });
  }

  test('reads the errors of a wrong secret and of a scope that the client does not have', async () => {
    await assert.rejects(
      logIn({ ...service.alpha, clientSecret: 'wrong' }, oauth.ClientSecretPost),
      (error) =>
        error instanceof oauth.WWWAuthenticateChallengeError ||
        (error instanceof oauth.ResponseBodyError && error.error === 'invalid_client'),
    );
    await assert.rejects(
      logIn(service.alpha, oauth.ClientSecretBasic, 'operator:read'),
      (error) => error instanceof oauth.ResponseBodyError && error.error === 'invalid_scope' && error.status === 400,
    );
  });

  test('refuses metadata of another issuer and a token for another audience: the judge does judge', async () => {
    await assert.rejects(discover(new URL('https://other.example')), oauth.OperationProcessingError);
    const { server, token } = await logIn(service.alpha, oauth.ClientSecretBasic);
    const request = new Request(service.url, { headers: { authorization: `Bearer ${token.access_token}` } });
    await assert.rejects(oauth.validateJwtAccessToken(server, request, 'https://other.example', insecure));
  });
});

test('structured-headers parses RateLimit and RateLimit-Policy (RFC 9651), also of a refusal', async () => {
  const client = await service.addClient('two-requests', ['status:read'], { 'check-status': 2 });
  for (const [status, left] of [
    [404, 1],
    [404, 0],
    [429, 0],
  ] as const) {
    const { headers, ...answer } = await service.get('/api/v1/check-status/NONE', { token: client.token });
    assert.equal(answer.status, status);
    const [[policy, policyParameters] = assert.fail(), ...otherPolicies] = parseList(
      headers.get('ratelimit-policy') ?? '',
    );
    assert.deepEqual(
      [policy, policyParameters, otherPolicies],
      ['check-status', new Map(Object.entries({ q: 2, w: 60 })), []],
    );
    const [[limit, parameters] = assert.fail(), ...others] = parseList(headers.get('ratelimit') ?? '');
    const reset = parameters.get('t');
    assert.deepEqual([limit, parameters.get('r'), parameters.size, others], ['check-status', left, 2, []]);
    assert.ok(typeof reset === 'number' && Number.isInteger(reset) && reset >= 0 && reset <= 60, String(reset));
  }
  // The judge does judge: two limits without a comma are no list.
  assert.throws(() => parseList('"check-status";r=1;t=60 "banks";r=1'));
});
