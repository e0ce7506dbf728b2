import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { exportJWK, exportSPKI, generateKeyPair, importJWK, type JWK } from 'jose';
import { changeClient } from '../../apps/server/src/postgres/clients.ts';
import { type Answer, startTestService, type TestService } from '../support/service.ts';
import { assertError } from './assertions.ts';
import { exchangeOne, rawRequest } from './raw-connection.ts';
import { currentKey, type Signer, signToken, unsignedToken, validClaims } from './tokens.ts';
import { untilStatus } from './until.ts';

/** docs/contract.md 5.1 and 5.2: every way in which a token can be wrong. */

let service: TestService;
let signer: Signer;
let publicJwk: JWK;

before(async () => {
  service = await startTestService();
  const { record, privateKey } = await currentKey(service);
  signer = { key: privateKey, header: { alg: record.algorithm, typ: 'at+jwt', kid: record.keyId } };
  publicJwk = record.publicJwk;
});
after(() => service?.close());

const PATH = '/api/v1/check-status/NONE';
const checkStatus = (token: string): Promise<Answer> => service.get(PATH, { token });
const claims = (changes: Record<string, unknown> = {}): Record<string, unknown> =>
  validClaims(service.url, 'alpha', changes);
const forge = (changes: Record<string, unknown>, header: Record<string, unknown> = {}): Promise<string> =>
  signToken(claims(changes), { ...signer, header: { ...signer.header, ...header } });

/** The token was accepted: the answer is about the transaction. */
const assertAuthenticated = (answer: Answer): void => assertError(answer, 'TRANSACTION_NOT_FOUND');

// RFC 6750, section 3.1.
const INVALID_TOKEN = 'Bearer realm="tiba", error="invalid_token", error_description="invalid or expired token"';

function assertInvalidToken(answer: Answer): void {
  assertError(answer, 'UNAUTHORIZED');
  assert.equal(answer.headers.get('www-authenticate'), INVALID_TOKEN);
}

suite('Authorization', () => {
  test('Bearer followed by a valid token is accepted; the scheme in any case', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      const headers = { authorization: `${scheme} ${await forge({})}` };
      assertAuthenticated(await service.get(PATH, { token: null, headers }));
    }
  });

  test('missing: UNAUTHORIZED, and the challenge has no error code, because no token was presented', async () => {
    const answer = await service.get(PATH, { token: null });
    assertError(answer, 'UNAUTHORIZED');
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer realm="tiba"');
  });

  // Regression: the message said to obtain a new token, which does not help.
  test('without the scheme, or with another one: the message says how to send the token', async () => {
    const { token } = service.alpha;
    const send = (authorization: string, headers: Readonly<Record<string, string>> = {}) =>
      service.get(PATH, { token: null, headers: { authorization, ...headers } });
    for (const authorization of [token, `Basic ${token}`, `Bearer "${token}"`, 'Bearer']) {
      const answer = await send(authorization);
      assertError(answer, 'UNAUTHORIZED', /Send it as Authorization: Bearer <access token>$/);
      const { message } = (await send(authorization, { 'accept-language': 'id' })).json;
      assert.match(message, /Kirim sebagai Authorization: Bearer <token akses>$/);
    }
    assertError(await send('Bearer a.b.c'), 'UNAUTHORIZED', /obtain a new access token/);
  });

  test('malformed: UNAUTHORIZED', async () => {
    const { token } = service.alpha;
    for (const authorization of [
      '',
      'Bearer',
      'Bearer ',
      token,
      `Basic ${token}`,
      `Token ${token}`,
      `Bearer ${token} x`,
      `Bearer,${token}`,
      `Bearer "${token}"`,
      `Bearer ${token},`,
      `Bearer ${token}=x`,
      `Bearer ${token.slice(0, -10)}`,
      'Bearer a.b.c',
      `Bearer ${token}.x`,
      `Bearer .${token}`,
      'Bearer ..',
      'Bearer é',
      `Bearer ${'x'.repeat(9_000)}`,
      `Bearer\t${token}`,
    ]) {
      assertInvalidToken(await exchangeOne(service.url, rawRequest('GET', PATH, { headers: { authorization } })));
    }
  });

  test('a token in the query or in the body is ignored (RFC 6750, sections 2.2 and 2.3)', async () => {
    const { token } = service.alpha;
    assertError(await service.get(`${PATH}?access_token=${token}`, { token: null }), 'UNAUTHORIZED');
    const body = { bank_code: '014', account_number: '1234567890', access_token: token };
    assertError(await service.checkAccount(body, { token: null }), 'UNAUTHORIZED');
  });
});

suite('a token signed by the right key is rejected', () => {
  const nowSeconds = Math.floor(Date.now() / 1000);
  const WRONG_CLAIMS: Readonly<Record<string, readonly Record<string, unknown>[]>> = {
    'when it has expired': [{ exp: nowSeconds - 1 }, { exp: nowSeconds - 86_400 }, { exp: 0 }, { exp: -1 }],
    'when it is not valid yet': [{ nbf: nowSeconds + 600 }],
    'when it names another issuer': [{ iss: 'https://issuer.example' }, { iss: '' }, { iss: 1 }],
    'when it is for another audience': [
      { aud: 'https://other.example' },
      { aud: [] },
      { aud: ['a', 'b'] },
      { aud: '' },
    ],
    'when its client_id is not a string': [{ client_id: 1 }, { client_id: ['alpha'] }, { client_id: null }],
    'when its scope is not a string': [{ scope: ['status:read'] }, { scope: 1 }],
    'when a time is not a number': [{ exp: 'tomorrow' }, { iat: 'today' }, { exp: null }],
    'when its client does not exist': [
      { client_id: 'unknown-client', sub: 'unknown-client' },
      { client_id: '' },
      { client_id: '__proto__' },
    ],
  };

  test('(control: a valid token is accepted, so that the rejections below mean something)', async () => {
    assertAuthenticated(await checkStatus(await forge({})));
    assertAuthenticated(await checkStatus(await forge({ aud: ['https://other.example', service.url] })));
  });

  for (const [name, cases] of Object.entries(WRONG_CLAIMS)) {
    test(name, async () => {
      for (const changes of cases) assertInvalidToken(await checkStatus(await forge(changes)));
    });
  }

  for (const claim of ['iss', 'exp', 'aud', 'sub', 'client_id', 'iat', 'jti']) {
    test(`when the claim ${claim} is missing (RFC 9068, section 2.2)`, async () => {
      assertInvalidToken(await checkStatus(await forge({ [claim]: undefined })));
    });
  }

  test('when its type is not at+jwt (RFC 9068, section 4)', async () => {
    for (const typ of ['JWT', 'jwt', 'at', 'at+jwt;v=2', '', undefined]) {
      assertInvalidToken(await checkStatus(await forge({}, { typ })));
    }
    assertAuthenticated(await checkStatus(await forge({}, { typ: 'application/at+jwt' })));
  });

  test('when its header names another key, no key, or a critical extension that is not understood', async () => {
    for (const header of [{ kid: 'another' }, { kid: undefined }, { kid: '__proto__' }]) {
      assertInvalidToken(await checkStatus(await forge({}, header)));
    }
    const [, payload, signature] = (await forge({})).split('.');
    for (const header of [
      { ...signer.header, crit: ['exp'] },
      { ...signer.header, crit: ['b64'], b64: false },
      [],
      null,
    ]) {
      assertInvalidToken(
        await checkStatus(`${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}.${signature}`),
      );
    }
  });
});

suite('a token that the right key did not sign is rejected', () => {
  test('its payload changed, its signature changed or cut', async () => {
    const [header, , signature = ''] = (await forge({})).split('.');
    const [, otherPayload] = (await forge({ client_id: 'beta', sub: 'beta' })).split('.');
    const [, payload] = (await forge({})).split('.');
    const flipped = (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1);
    for (const forged of [
      [header, otherPayload, signature],
      [header, payload, flipped],
      [header, payload, signature.slice(0, -8)],
      [header, payload, ''],
    ]) {
      assertInvalidToken(await checkStatus(forged.join('.')));
    }
  });

  test('signed by another key that claims to be the right one', async () => {
    const { privateKey } = await generateKeyPair('EdDSA');
    assertInvalidToken(await checkStatus(await signToken(claims(), { ...signer, key: privateKey })));
  });

  test('signed by another algorithm under the right key ID', async () => {
    for (const alg of ['ES256', 'RS256', 'PS256', 'ES384']) {
      const { privateKey } = await generateKeyPair(alg);
      assertInvalidToken(
        await checkStatus(await signToken(claims(), { key: privateKey, header: { ...signer.header, alg } })),
      );
    }
  });

  test('with a key of its own in the header', async () => {
    const { privateKey, publicKey } = await generateKeyPair('EdDSA', { extractable: true });
    const jwk = await exportJWK(publicKey);
    for (const header of [{ jwk }, { jku: 'http://127.0.0.1:9/jwks' }, { x5u: 'http://127.0.0.1:9/x' }]) {
      const forged = { key: privateKey, header: { ...signer.header, ...header } as Signer['header'] };
      assertInvalidToken(await checkStatus(await signToken(claims(), forged)));
    }
  });

  test('alg none, in any case, with a signature or without', async () => {
    for (const alg of ['none', 'None', 'NONE', '', undefined]) {
      for (const signature of ['', 'AAAA']) {
        assertInvalidToken(await checkStatus(unsignedToken(claims(), { ...signer.header, alg }, signature)));
      }
    }
  });

  test('HS256 with the public key as the secret, in every published form of the key', async () => {
    const key = await importJWK(publicJwk, String(signer.header.alg), { extractable: true });
    assert.ok(!(key instanceof Uint8Array));
    const secrets = [await exportSPKI(key), JSON.stringify(publicJwk), String(publicJwk.x)].map((text) =>
      Buffer.from(text),
    );
    for (const secret of [...secrets, Buffer.from(String(publicJwk.x), 'base64url')]) {
      for (const alg of ['HS256', 'HS384', 'HS512']) {
        assertInvalidToken(
          await checkStatus(await signToken(claims(), { key: secret, header: { ...signer.header, alg } })),
        );
      }
    }
  });
});

suite('disabling and revoking take effect within one second', () => {
  const SECOND_MS = 1_000;

  test(
    'a disabled client is UNAUTHORIZED, even with a token that was accepted before, and accepted again when ' +
      'enabled',
    async () => {
      const { clientId, token } = await service.addClient('disabled', ['status:read']);
      assertAuthenticated(await checkStatus(token));
      const startedMs = performance.now();
      await changeClient(service.app.database, clientId, 'disable');
      const answer = await untilStatus(401, () => checkStatus(token));
      const elapsedMs = performance.now() - startedMs;
      assertInvalidToken(answer);
      assert.ok(elapsedMs < SECOND_MS, `after ${elapsedMs} ms`);
      await changeClient(service.app.database, clientId, 'enable');
      assertAuthenticated(await untilStatus(404, () => checkStatus(token)));
    },
  );

  test('revoked tokens are UNAUTHORIZED; tokens issued after the revocation are valid', async () => {
    const { clientId, token } = await service.addClient('revoked', ['status:read']);
    assertAuthenticated(await checkStatus(token));
    const startedMs = performance.now();
    await changeClient(service.app.database, clientId, 'revoke-tokens');
    assertInvalidToken(await untilStatus(401, () => checkStatus(token)));
    const elapsedMs = performance.now() - startedMs;
    assert.ok(elapsedMs < SECOND_MS, `after ${elapsedMs} ms`);
    const client = service.app.clients.find(clientId);
    assert.ok(client !== undefined);
    assertAuthenticated(await checkStatus(await service.app.issue(client, ['status:read'], 900)));
  });

  test('a token that was accepted before is UNAUTHORIZED from the moment it expires', async () => {
    const expSeconds = Math.floor(Date.now() / 1000) + 2;
    const token = await forge({ exp: expSeconds });
    assertAuthenticated(await checkStatus(token));
    const answer = await untilStatus(401, () => checkStatus(token));
    assertInvalidToken(answer);
    assert.ok(Date.now() >= expSeconds * 1000);
    assert.ok(Date.now() < expSeconds * 1000 + SECOND_MS);
  });
});

suite('scopes', () => {
  test('a token without the scope of an operation is FORBIDDEN there and valid for other operations', async () => {
    const token = await forge({ scope: 'account:check' });
    assertError(await checkStatus(token), 'FORBIDDEN');
    assertError(await service.checkAccount({}, { token }), 'INVALID_BANK_CODE');
  });

  test('no scope, an empty scope and unknown scopes are FORBIDDEN', async () => {
    for (const scope of [
      undefined,
      '',
      ' ',
      'status',
      'status:read:all',
      'STATUS:READ',
      'status:read,account:check',
      '*',
    ]) {
      assertError(await checkStatus(await forge({ scope })), 'FORBIDDEN');
    }
  });

  test('a scope that the client itself does not have is FORBIDDEN, whatever the token says', async () => {
    await service.addClient('narrow', ['account:check']);
    const token = await forge({ client_id: 'narrow', sub: 'narrow', scope: 'status:read account:check' });
    assertError(await checkStatus(token), 'FORBIDDEN');
  });
});
