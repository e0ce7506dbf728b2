import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { changeClient } from '../../apps/server/src/postgres/clients.ts';
import { createFastClient, type FastClient } from '../contract/fast-client.ts';
import { startWalletAndAliasRails } from '../contract/wallet-and-alias-rails.ts';
import { type Answer, statusUpdate, type TestService } from '../support/service.ts';
import { randomRequests } from '../support/suite-environment.ts';
import {
  addSnapClient,
  jakartaNow,
  newExternalId,
  requestToken,
  type SnapClient,
  startSnapService,
  symmetricSignature,
  tokenSignature,
} from './snap-client.ts';

/**
 * Any request gets an answer in SNAP's form: without a 5xx, but for a bank that cannot answer, and without an account
 * number in the log. FC_SEED repeats a run, and RANDOM_REQUESTS is the number of requests.
 */

const REQUESTS = randomRequests(5_000);
const AT_ONCE = 100;
/** Of an account that random requests name. No other text has these digits. */
const CANARY = '8081727354637890';

let service: TestService & { readonly snapUrl: string };
let client: FastClient;
let reached: Awaited<ReturnType<typeof startWalletAndAliasRails>>;
let shop: SnapClient;
let token: string;

before(async () => {
  reached = await startWalletAndAliasRails();
  service = await startSnapService({ rails: reached.rails });
  client = createFastClient(service.snapUrl, AT_ONCE);
  shop = await addSnapClient(service, 'alpha');
  // Random accounts look like enumeration.
  await changeClient(service.app.database, 'alpha', 'trust');
  await service.app.clients.reload();
  await service.feed(statusUpdate({ reference_id: 'one', account_number: CANARY, bank_code: '008' }));
  token = String((await requestToken(service.snapUrl, shop)).body['accessToken']);
});
after(async () => {
  await client?.close();
  await service?.close();
  await reached?.close();
});

const anyText = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0x24f }), fc.integer({ min: 0, max: 0xffff })), { maxLength: 80 })
  .map((units) => String.fromCharCode(...units));
const value = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      CANARY,
      '1234567890',
      '1234560404',
      '1234560503',
      '081234567890',
      'budi@example.com',
      '014',
      '008',
      '18',
      'one',
    ),
  },
  { weight: 1, arbitrary: anyText },
  { weight: 1, arbitrary: fc.jsonValue() },
);
const fields = fc.record(
  {
    beneficiaryBankCode: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom('014', '008', 'BCA', 'GOPAY', 'BIFAST') },
      value,
    ),
    beneficiaryAccountNo: value,
    partnerReferenceNo: value,
    originalPartnerReferenceNo: value,
    originalReferenceNo: fc.oneof(fc.constant('TB0000000001'), value),
    originalExternalId: value,
    serviceCode: fc.oneof({ weight: 3, arbitrary: fc.constant('18') }, value),
    transactionDate: fc.oneof(fc.constant('2026-11-21T11:32:26+07:00'), value),
    amount: fc.oneof(fc.constant({ value: '150000.00', currency: 'IDR' }), value),
    grantType: fc.oneof(fc.constant('client_credentials'), value),
  },
  { requiredKeys: ['serviceCode'] },
);
/** So that inquiries reach each bank, whatever the seed. */
const recipients = fc.constantFrom(
  { beneficiaryBankCode: '014', beneficiaryAccountNo: '1234567890' },
  { beneficiaryBankCode: 'GOPAY', beneficiaryAccountNo: '081234567890' },
  { beneficiaryBankCode: 'BIFAST', beneficiaryAccountNo: 'budi@example.com' },
);
const inquiry = fc
  .tuple(fields, recipients)
  .map(([each, recipient]) => Object.assign({}, each, recipient, { partnerReferenceNo: 'one' }));
const json = fc
  .oneof({ weight: 4, arbitrary: fields }, { weight: 1, arbitrary: inquiry })
  .map((each) => JSON.stringify(each));
const body = fc.oneof(
  { weight: 8, arbitrary: json },
  { weight: 1, arbitrary: fc.tuple(json, fc.nat(200)).map(([text, cut]) => text.slice(0, cut)) },
  { weight: 1, arbitrary: fc.jsonValue().map((each) => JSON.stringify(each)) },
  { weight: 1, arbitrary: anyText },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', '['.repeat(8_000), '{"serviceCode":"18","serviceCode":"17"}', '"'.repeat(17_000)),
  },
);
const path = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom(
      '/v1.0/account-inquiry-external',
      '/v1.0/account-inquiry-internal',
      '/snap/v1/transfer/status',
      '/v1.0/transfer/status?x=%',
      '/v1.0/access-token/b2b',
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom('/', '/%/v1.0/transfer/status', '/v9/transfer/status', '//v1.0', '/v1.0/x') },
);
const headers = fc.dictionary(
  fc.constantFrom(
    'content-type',
    'authorization',
    'x-timestamp',
    'x-signature',
    'x-partner-id',
    'x-external-id',
    'channel-id',
    'accept',
  ),
  fc.oneof(
    fc.constantFrom('', 'Bearer x', 'text/html', '1', '0'.repeat(500), 'é'),
    fc.string({ unit: 'grapheme-ascii' }),
  ),
  { maxKeys: 2 },
);
const request = fc.record({
  path,
  body,
  method: fc.oneof({ weight: 12, arbitrary: fc.constant('POST') }, fc.constantFrom('GET', 'PUT', 'OPTIONS')),
  // Nine of ten requests are signed as they should be.
  headers: fc.oneof({ weight: 9, arbitrary: fc.constant({}) }, { weight: 2, arbitrary: headers }),
});
type RandomRequest = typeof request extends fc.Arbitrary<infer T> ? T : never;

function send({ path: target, body: text, method, headers: changed }: RandomRequest): Promise<Answer> {
  const timestamp = jakartaNow();
  const bytes = Buffer.from(text, 'utf8');
  const signed = { path: target, token, body: bytes.toString('utf8'), timestamp };
  const all = {
    'content-type': 'application/json',
    authorization: `Bearer ${token}`,
    'x-timestamp': timestamp,
    'x-signature': target.endsWith('/access-token/b2b')
      ? tokenSignature(shop, timestamp)
      : symmetricSignature(shop.secret, signed).toString('base64'),
    'x-client-key': 'alpha',
    'x-partner-id': 'alpha',
    'x-external-id': newExternalId(),
    'channel-id': '1',
    ...changed,
  };
  return client.send(target, { method, headers: all, body: method === 'POST' || method === 'PUT' ? bytes : null });
}

const counts = new Map<string, number>();

function assertSnap({ status, headers: answered, text, json: envelope }: Answer): void {
  const { responseCode: code, responseMessage: message } = envelope as unknown as Record<string, unknown>;
  assert.match(String(code), /^\d{3}(?:00|15|16|36|73)\d{2}$/, text);
  assert.equal(status, Number(String(code).slice(0, 3)));
  assert.ok(typeof message === 'string' && message.length <= 150 && message.length > 0);
  assert.ok(!message.includes('[') || message.endsWith(']'), `the end is cut off: ${text}`);
  assert.ok(status < 500 || /^500(?:15|16)02$/.test(String(code)), text);
  assert.match(answered.get('x-timestamp') ?? '', /\+07:00$/);
  counts.set(String(code), (counts.get(String(code)) ?? 0) + 1);
}

test(`${REQUESTS} random requests`, async (t) => {
  const seed = Number(process.env['FC_SEED'] ?? randomInt(2 ** 31));
  t.diagnostic(`FC_SEED=${seed}`);
  const batch = fc.array(request, { minLength: AT_ONCE, maxLength: AT_ONCE });
  for (const [index, requests] of fc.sample(batch, { seed, numRuns: Math.ceil(REQUESTS / AT_ONCE) }).entries()) {
    const answers = await Promise.all(requests.map(send));
    for (const [each, answer] of answers.entries()) {
      try {
        assertSnap(answer);
      } catch (error) {
        throw new Error(`FC_SEED=${seed}, batch ${index}: ${JSON.stringify(requests[each])}`, { cause: error });
      }
    }
  }
  t.diagnostic(
    JSON.stringify(Object.fromEntries([...counts.entries()].toSorted(([one], [other]) => one.localeCompare(other)))),
  );
  // Otherwise the requests would be too random to reach the services.
  for (const code of [
    '2007300',
    '4007301',
    '2001500',
    '2001600',
    '4041611',
    '5001602',
    '4001600',
    '4051600',
    '4011600',
  ]) {
    assert.ok(counts.has(code), code);
  }
  const inquired = new Set(service.logged.flatMap(({ bank, rail }) => (rail === undefined ? [] : [bank])));
  for (const bic of ['CENAIDJA', 'GOPAY', 'BIFAST']) assert.ok(inquired.has(bic), `no inquiry was about ${bic}`);
  assert.ok(!JSON.stringify(service.logged).includes(CANARY.slice(0, 12)), 'an account number stands in the log');
});
