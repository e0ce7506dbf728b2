import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, suite, test } from 'node:test';
import { statusUpdate, type TestService } from '../support/service.ts';
import { addSnapClient, newExternalId, post, type SnapClient, startSnapService } from './snap-client.ts';

/** Libraries of payment companies, which know nothing of Tiba. OpenSSL's commands are in test/docs. */

const require = createRequire(import.meta.url);

const ACCOUNT = { beneficiaryBankCode: '014', beneficiaryAccountNo: '1234567890', partnerReferenceNo: 'a / é  b' };
const EXTERNAL = '/snap/v1.0/account-inquiry-external';

let service: TestService & { readonly snapUrl: string };
let shop: SnapClient;

before(async () => {
  service = await startSnapService();
  shop = await addSnapClient(service, 'alpha');
  await service.feed(statusUpdate({ status: 'SUCCESS' }));
});

after(() => service?.close());

/** The parts of the two packages that are used. They have no types. */
interface Midtrans {
  readonly SnapBiConfig: Record<string, unknown>;
  readonly SnapBi: {
    va(): { body: unknown; apiPath: string; createConnection(externalId: string): Promise<Record<string, unknown>> };
  };
}
interface DokuTokens {
  generateTimestamp(): string;
  generateSignature(privateKey: string, clientId: string, timestamp: string): string;
  createTokenB2BRequestDTO(signature: string, timestamp: string, clientId: string): unknown;
  createTokenB2B(request: unknown, isProduction: boolean): Promise<Record<string, unknown>>;
  generateSymmetricSignature(
    ...parts: [method: string, path: string, token: string, body: unknown, timestamp: string, secret: string]
  ): string;
  generateSignatureV2(
    ...parts: [privateKey: string, clientId: string, timestamp: string, request: { path: string; body: unknown }]
  ): string;
}

const pemOf = ({ keys }: SnapClient): string => keys.privateKey.export({ type: 'pkcs8', format: 'pem' });

test('midtrans-client, with another base URL: its token and its signatures', async () => {
  const { SnapBi, SnapBiConfig }: Midtrans = require('midtrans-client');
  Object.assign(SnapBiConfig, {
    SNAP_BI_SANDBOX_BASE_URL: service.snapUrl,
    snapBiClientId: 'alpha',
    snapBiPrivateKey: pemOf(shop),
    snapBiClientSecret: shop.secret,
    snapBiPartnerId: 'alpha',
    snapBiChannelId: '12345',
  });
  const send = (apiPath: string, body: unknown, externalId = newExternalId()) =>
    Object.assign(SnapBi.va(), { apiPath, body }).createConnection(externalId);
  const externalId = newExternalId();
  const account = await send('/v1.0/account-inquiry-external', ACCOUNT, externalId);
  assert.equal(account['responseCode'], '2001600', JSON.stringify(account));
  assert.equal(account['partnerReferenceNo'], ACCOUNT.partnerReferenceNo);
  const internal = await send('/v1.0/account-inquiry-internal', { beneficiaryAccountNo: '1234560404' });
  assert.equal(internal['responseCode'], '4041511');
  const status = await send('/v1.0/transfer/status', { originalPartnerReferenceNo: 'INV/2026/001', serviceCode: '18' });
  assert.equal(status['latestTransactionStatus'], '00', JSON.stringify(status));
  const replayed = await send('/v1.0/account-inquiry-external', ACCOUNT, externalId);
  assert.equal(replayed['responseCode'], '4091600');
  SnapBiConfig['snapBiClientSecret'] = 'another secret';
  const forged = await send('/v1.0/account-inquiry-external', ACCOUNT);
  assert.equal(forged['responseCode'], '4011600');
});

suite('doku-nodejs-library, with another base URL', () => {
  const doku: DokuTokens = require('doku-nodejs-library/_services/tokenService');
  const config = require('doku-nodejs-library/_commons/config') as { CORE_SANDBOX_BASE_URL: string };

  const headersOf = (timestamp: string, signature: string, externalId = newExternalId()) => ({
    'x-timestamp': timestamp,
    'x-signature': signature,
    'x-partner-id': 'alpha',
    'x-external-id': externalId,
    'channel-id': 'H2H',
  });

  test('its token, and its symmetric signature', async () => {
    config.CORE_SANDBOX_BASE_URL = service.snapUrl;
    const timestamp = doku.generateTimestamp();
    const signature = doku.generateSignature(pemOf(shop), 'alpha', timestamp);
    const answer = await doku.createTokenB2B(doku.createTokenB2BRequestDTO(signature, timestamp, 'alpha'), false);
    assert.equal(answer['responseCode'], '2007300');
    const token = String(answer['accessToken']);
    const symmetric = doku.generateSymmetricSignature('POST', EXTERNAL, token, ACCOUNT, timestamp, shop.secret);
    const headers = { ...headersOf(timestamp, symmetric), authorization: `Bearer ${token}` };
    const { body } = await post(service.snapUrl + EXTERNAL, headers, JSON.stringify(ACCOUNT));
    assert.equal(body['responseCode'], '2001600');
  });

  test('its asymmetric signature, over a body without any whitespace, and its X-EXTERNAL-ID', async () => {
    const sign = (): Promise<{ readonly body: Readonly<Record<string, unknown>> }> => {
      const timestamp = doku.generateTimestamp();
      const signature = doku.generateSignatureV2(pemOf(shop), 'alpha', timestamp, { path: EXTERNAL, body: ACCOUNT });
      const externalId = 'x'.repeat(50);
      return post(service.snapUrl + EXTERNAL, headersOf(timestamp, signature, externalId), JSON.stringify(ACCOUNT));
    };
    assert.equal((await sign()).body['responseCode'], '4011600', 'a client that did not ask for it');
    shop = await addSnapClient(service, 'alpha', { bodyHash: 'without_whitespace', externalIds: 'off' });
    assert.equal((await sign()).body['responseCode'], '2001600');
  });
});
