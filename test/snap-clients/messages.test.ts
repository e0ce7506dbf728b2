import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { NoVerdictReason, Rail } from '../../apps/server/src/rails/rail.ts';
import { exchangeOne } from '../contract/raw-connection.ts';
import {
  addSnapClient,
  call,
  requestToken,
  type SnapAnswer,
  type SnapClient,
  startSnapService,
} from './snap-client.ts';

/** A message says what to do next, in the 150 characters that SNAP has for it. */

type SnapService = Awaited<ReturnType<typeof startSnapService>>;

/** The name of each bank of a province has more than 40 characters. */
const LONG_NAME = '124';
const NO_ACCOUNT = 'which says nothing about the account';
const UNREACHED = 'BRINIDJA';
const EXTERNAL = '/v1.0/account-inquiry-external';

const REASONS: Readonly<Record<string, NoVerdictReason>> = {
  '9000000001': 'bank_unavailable',
  '9000000002': 'timeout',
  '9000000003': 'rejected_by_bank',
  '9000000004': 'not_supported',
};

const scriptedRail: Rail = {
  name: 'bank',
  reaches: ({ bic }) => bic !== UNREACHED,
  inquireAccount({ accountNumber }) {
    const reason = REASONS[accountNumber.reveal()];
    if (reason !== undefined) return Promise.resolve({ kind: 'no_verdict', reason, railCode: null });
    return Promise.resolve({
      kind: 'verdict',
      verdict: { status: 'ACTIVE', accountName: 'BUDI SANTOSO' },
      railCode: '0',
    });
  },
  close: () => Promise.resolve(),
};

let service: SnapService;
let shop: SnapClient;
let token: string;

async function tokenOf(from: SnapService, client: SnapClient): Promise<string> {
  return String((await requestToken(from.snapUrl, client)).body['accessToken']);
}

before(async () => {
  service = await startSnapService({ rails: [scriptedRail], limits: { 'accounts-per-day': 5 } });
  shop = await addSnapClient(service, 'alpha');
  token = await tokenOf(service, shop);
});

after(() => service?.close());

const inquire = (beneficiaryAccountNo: string, beneficiaryBankCode = LONG_NAME): Promise<SnapAnswer> =>
  call(service.snapUrl, shop, token, { beneficiaryBankCode, beneficiaryAccountNo });

const textOf = ({ body }: SnapAnswer): string => `${String(body['responseCode'])} ${String(body['responseMessage'])}`;

// Regression: the messages of the JSON API were cut after 150 characters, and the cut took what to do.
suite('an inquiry without a verdict', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    [
      '9000000001',
      LONG_NAME,
      `5001602 External Server Error [the bank cannot answer now, ${NO_ACCOUNT}: repeat with a new X-EXTERNAL-ID]`,
    ],
    [
      '9000000002',
      LONG_NAME,
      `5041600 Timeout [the bank cannot answer now, ${NO_ACCOUNT}: repeat with a new X-EXTERNAL-ID]`,
    ],
    [
      '9000000003',
      LONG_NAME,
      `5001602 External Server Error [the bank rejects inquiries about this number, ${NO_ACCOUNT}: check the number]`,
    ],
    [
      '9000000004',
      LONG_NAME,
      `5001602 External Server Error [no connection to the bank carries this number, ${NO_ACCOUNT}: check the number]`,
    ],
    [
      '1234567890',
      UNREACHED,
      '4041603 Bank Not Supported By Switch [beneficiaryBankCode: no connection here reaches this bank; ask the operator]',
    ],
  ];
  for (const [digits, bankCode, expected] of cases) {
    test(expected, async () => {
      assert.equal(textOf(await inquire(digits, bankCode)), expected);
    });
  }

  test('over the limit of accounts says when to go on', async () => {
    const answers: SnapAnswer[] = [];
    for (let last = 0; last < 6; last += 1) answers.push(await inquire(`881234567${last}`));
    const refused = answers.find(({ status }) => status === 429);
    assert.ok(refused);
    assert.ok(refused.headers.has('retry-after'));
    assert.equal(
      textOf(refused),
      '4291600 Too Many Requests [too many different accounts in a day: wait for Retry-After seconds. ' +
        'Accounts of today can be checked again]',
    );
  });
});

test('an inquiry while the operator has paused the service says so', async (t) => {
  const paused = await startSnapService({ rails: [scriptedRail], settings: { paused: true } });
  t.after(paused.close);
  const client = await addSnapClient(paused, 'alpha');
  const fields = { beneficiaryBankCode: LONG_NAME, beneficiaryAccountNo: '1234567890' };
  assert.equal(
    textOf(await call(paused.snapUrl, client, await tokenOf(paused, client), fields)),
    `5001601 Internal Server Error [the operator has paused this service, ${NO_ACCOUNT}: repeat it later]`,
  );
});

const STATUS = '/v1.0/transfer/status';
const ACCOUNT = { beneficiaryBankCode: '014', beneficiaryAccountNo: '1234567890' };

// Regression: the message named the field and left its form to guess.
suite('a malformed header or field is named with its form', () => {
  const fields: readonly (readonly [string, object, string])[] = [
    [EXTERNAL, { ...ACCOUNT, beneficiaryAccountNo: '12345' }, 'beneficiaryAccountNo: 10 digits'],
    [EXTERNAL, { beneficiaryBankCode: '008', beneficiaryAccountNo: 'x1' }, 'beneficiaryAccountNo: 5 to 34 digits'],
    [
      EXTERNAL,
      { beneficiaryBankCode: 'GOPAY', beneficiaryAccountNo: '1234' },
      'beneficiaryAccountNo: a mobile number such as 081234567890',
    ],
    [
      EXTERNAL,
      { ...ACCOUNT, partnerReferenceNo: 'x'.repeat(65) },
      'partnerReferenceNo: a string of at most 64 characters, without control characters',
    ],
    [STATUS, { originalExternalId: '1', serviceCode: '99' }, 'serviceCode: one of 17, 18, 22, 23, 43'],
    [
      STATUS,
      { originalReferenceNo: 'BCA-9', serviceCode: '18' },
      'originalReferenceNo: not a transaction ID. Add originalPartnerReferenceNo; do not pay again',
    ],
    [
      STATUS,
      { originalExternalId: '1', serviceCode: '18', amount: { value: '1,000', currency: 'IDR' } },
      'amount.value: a decimal such as 150000.00',
    ],
    [
      STATUS,
      { originalExternalId: '1', serviceCode: '18', transactionDate: '2026-11-21' },
      'transactionDate: a time with a time zone, such as 2026-11-21T11:32:26+07:00',
    ],
  ];
  for (const [path, body, expected] of fields) {
    test(expected, async () => {
      const { body: answered } = await call(service.snapUrl, shop, token, body, { path });
      assert.equal(answered['responseMessage'], `Invalid Field Format [${expected}]`);
    });
  }

  const headers: readonly (readonly [Record<string, string>, string])[] = [
    [{ 'x-timestamp': 'now' }, 'X-TIMESTAMP: a time with a time zone, such as 2026-11-21T11:32:26+07:00'],
    [{ 'x-timestamp': '2026-11-21' }, 'X-TIMESTAMP: a time with a time zone, such as 2026-11-21T11:32:26+07:00'],
    [{ 'x-signature': 'not*base64' }, 'X-SIGNATURE: base64 or hex'],
    [{ 'x-external-id': 'letters' }, 'X-EXTERNAL-ID: 1 to 36 digits'],
    [{ 'channel-id': '123456' }, 'CHANNEL-ID: 1 to 5 characters of ASCII, without spaces'],
  ];
  for (const [changed, expected] of headers) {
    test(`${expected} (${String(Object.values(changed))})`, async () => {
      const { body } = await call(service.snapUrl, shop, token, ACCOUNT, { headers: changed });
      assert.equal(body['responseMessage'], `Invalid Field Format [${expected}]`);
    });
  }
});

// Regression: a client that left out the scheme would request one new token after the other.
test('a token that is missing, or without its scheme, is named with the form of its header', async () => {
  const send = 'send it as Authorization: Bearer <accessToken>';
  const cases: readonly (readonly [string, string])[] = [
    ['', `4011603 Token Not Found (B2B) [${send}]`],
    [token, `4011601 Invalid Token (B2B) [${send}]`],
    [`Basic ${token}`, `4011601 Invalid Token (B2B) [${send}]`],
    [`Bearer ${token}x`, '4011601 Invalid Token (B2B) [request a new token from access-token/b2b]'],
  ];
  for (const [authorization, expected] of cases) {
    assert.equal(textOf(await call(service.snapUrl, shop, token, ACCOUNT, { headers: { authorization } })), expected);
  }
});

// Regression: the message named a file of the documentation, which a client may not have.
test('an unknown path is answered with those that exist', async () => {
  assert.equal(
    textOf(await call(service.snapUrl, shop, token, ACCOUNT, { path: '/v1.0/balance-inquiry' })),
    '4040002 Invalid Routing [POST to /v1.0/access-token/b2b, /account-inquiry-internal, /account-inquiry-external ' +
      'or /transfer/status]',
  );
});

test('a request with a malformed head has the code and the log line of its service', async () => {
  const head = `POST /snap/v1/transfer/status HTTP/1.1\r\nHost: x\r\nHost: y\r\nContent-Length: 0\r\n\r\n`;
  const { text } = await exchangeOne(service.snapUrl, head);
  assert.match(text, /^{"responseCode":"4003600",/);
  const line = service.logged.findLast(({ responseCode }) => responseCode === '4003600');
  assert.equal(line?.['route'], STATUS);
});

// Regression: the message said what is missing, and not whom to ask for it.
test('a client without a scope learns whom to ask for it', async () => {
  const clients = [
    ['no-scopes', [], '4037301', 'no scope status:read or account:check: ask the operator for one'],
    ['status-only', ['status:read'], '4031601', 'the scope account:check is missing: ask the operator for it'],
  ] as const;
  for (const [clientId, scopes, code, reason] of clients) {
    await service.addClient(clientId, scopes);
    const client = await addSnapClient(service, clientId);
    const answer = await requestToken(service.snapUrl, client);
    const refused =
      answer.status === 200 ? await call(service.snapUrl, client, String(answer.body['accessToken']), ACCOUNT) : answer;
    assert.equal(textOf(refused), `${code} Feature Not Allowed [${reason}]`);
  }
});
