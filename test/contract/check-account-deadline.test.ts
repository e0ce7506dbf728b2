import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite, test } from 'node:test';
import { exportJWK, generateKeyPair } from 'jose';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import {
  addSnapClient,
  asymmetricSignature,
  jakartaNow,
  newExternalId,
  post,
  type SnapAnswer,
  type SnapClient,
  startSnapService,
} from '../snap-clients/snap-client.ts';
import { startTestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { assertError, assertSuccess } from './assertions.ts';
import { openRawConnection, rawRequest } from './raw-connection.ts';
import { signToken, validClaims } from './tokens.ts';

/** docs/contract.md 4.3: the response arrives within 5 s, whatever its request waits for before the bank is asked. */

const ISSUER = 'https://login.example';

/** An external issuer that answers the first request for its keys after this time. */
async function startSlowIssuer(delayMs: number) {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }];
  const server = createServer((_request, response) => {
    setTimeout(() => response.end(JSON.stringify({ keys })), delayMs);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    jwksUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`,
    issue: (clientId: string): Promise<string> =>
      signToken(validClaims(ISSUER, clientId), {
        key: privateKey,
        header: { alg: 'ES256', typ: 'at+jwt', kid: 'one' },
      }),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** An account inquiry in SNAP, without a token. */
function inquireInSnap(snapUrl: string, client: SnapClient, account: string): Promise<SnapAnswer> {
  const path = '/v1.0/account-inquiry-external';
  const body = JSON.stringify({ beneficiaryBankCode: 'BRI', beneficiaryAccountNo: account });
  const timestamp = jakartaNow();
  const headers = {
    'x-timestamp': timestamp,
    'x-signature': asymmetricSignature(client.keys.privateKey, path, body, timestamp).toString('base64'),
    'x-partner-id': client.partnerId,
    'x-external-id': newExternalId(),
    'channel-id': '95221',
  };
  return post(snapUrl + path, headers, body);
}

/** As many account numbers in a row as the enumeration guard slows a client for. */
async function enumerate(snapUrl: string, client: SnapClient): Promise<void> {
  for (let index = 0; index < 50; index += 1) {
    const { status } = await inquireInSnap(snapUrl, client, String(881_234_000 + index));
    assert.equal(status, 200);
  }
}

suite('a check whose request waits before its bank is asked', () => {
  // Regression: up to 5.8 s. The bank had 4 s, whatever the request had waited for.
  test('a slow key set, a client that is slowed and a silent bank: SERVICE_UNAVAILABLE within 5 s', async (t) => {
    // Below the 0.8 s that a request waits for keys, or the token cannot be verified.
    const issuer = await startSlowIssuer(600);
    t.after(issuer.close);
    const service = await startSnapService({
      settings: { tokenIssuer: ISSUER, tokenJwksUrl: issuer.jwksUrl, tokenAudience: ISSUER },
    });
    t.after(() => service.close());
    await enumerate(service.snapUrl, await addSnapClient(service, 'alpha'));
    const token = await issuer.issue('alpha');
    const startedMs = performance.now();
    const answer = await service.checkAccount({ bank_code: 'BRI', account_number: '8812340504' }, { token });
    const durationMs = performance.now() - startedMs;
    assertError(answer, 'SERVICE_UNAVAILABLE');
    assert.ok(durationMs <= timeLimitMs(5_000), `answered after ${durationMs} ms`);
  });

  test('in SNAP, a request that has no time left for its bank is 500ss01: the bank was not silent', async (t) => {
    const service = await startSnapService({ enumerationGuard: { slowedMs: 4_100 } });
    t.after(() => service.close());
    const client = await addSnapClient(service, 'alpha');
    await enumerate(service.snapUrl, client);
    const { body, headers } = await inquireInSnap(service.snapUrl, client, '8812340001');
    assert.equal(body['responseCode'], '5001601');
    assert.ok(headers.get('retry-after') !== null);
  });

  test('the time in which a client sends its body is its own: the bank is asked', async (t) => {
    const rail: Rail = {
      name: 'quick',
      reaches: () => true,
      inquireAccount: async () => ({
        kind: 'verdict',
        verdict: { status: 'ACTIVE', accountName: 'BUDI' },
        railCode: '0',
      }),
      close: async () => {},
    };
    const service = await startTestService({ rails: [rail] });
    t.after(() => service.close());
    const connection = await openRawConnection(service.url);
    t.after(() => connection.end());
    const body = '{"bank_code":"014","account_number":"1234567890"}';
    const headers = {
      authorization: `Bearer ${service.alpha.token}`,
      'content-type': 'application/json',
      'content-length': String(body.length),
      expect: '100-continue',
    };
    connection.send(rawRequest('POST', '/api/v1/check-account', { headers }));
    assert.equal((await connection.readAny())?.status, 100);
    const nowMs = performance.now.bind(performance);
    t.mock.method(performance, 'now', () => nowMs() + 9_000);
    connection.send(body);
    const answer = await connection.read();
    assert.ok(answer !== null);
    assertSuccess(answer);
  });
});
