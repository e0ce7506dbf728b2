import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { rsaKeys } from '../support/rsa-keys.ts';
import type { Answer, TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import {
  answer,
  answerActive,
  type BankAnswer,
  type BankRequest,
  drip,
  HOLDER,
  type ScriptedBank,
  startScriptedBank,
  successOf,
} from './scripted-bank.ts';
import { UNPROTECTED } from './unprotected.ts';

/** A valid reply with these fields changed. */
const changed =
  (changes: Record<string, unknown>, status = 200): BankAnswer =>
  (request, response) =>
    answer(response, status, { ...successOf(request), ...changes });

/** A valid reply with a rewritten text. */
const rewritten =
  (rewrite: (valid: string, request: BankRequest) => string | Buffer): BankAnswer =>
  (request, response) =>
    answer(response, 200, rewrite(JSON.stringify(successOf(request)), request));

const withHeaders =
  (headers: Record<string, string>, status = 200): BankAnswer =>
  (request, response) => {
    response.writeHead(status, headers);
    response.end(JSON.stringify(successOf(request)));
  };

const closeAfter =
  (part: (valid: string) => string): BankAnswer =>
  (request, response: ServerResponse) => {
    const valid = JSON.stringify(successOf(request));
    response.writeHead(200, { 'content-length': Buffer.byteLength(valid) });
    response.write(part(valid), () => response.destroy());
  };

const MEBIBYTE = 1024 * 1024;

// Not in this thread, where the service under test runs and is timed.
const compress = promisify(gzip);

const compressed =
  (rewrite: (valid: string) => string): BankAnswer =>
  async (request, response) => {
    const body = await compress(rewrite(JSON.stringify(successOf(request))));
    response.writeHead(200, { 'content-encoding': 'gzip' });
    response.end(body);
  };

const INVALID_REPLIES: Readonly<Record<string, BankAnswer>> = {
  'HTML with 200': (_request, response) => answer(response, 200, `<html><body>${HOLDER}</body></html>`),
  'an empty body': (_request, response) => answer(response, 200, ''),
  'truncated JSON': rewritten((valid) => valid.slice(0, -1)),
  'two JSON objects': rewritten((valid) => valid + valid),
  'a JSON array': rewritten((valid) => `[${valid}]`),
  'JSON null': (_request, response) => answer(response, 200, 'null'),
  'NaN for a number': rewritten((valid) => valid.replace(/\}$/, ',"amount":NaN}')),
  'arrays in arrays, 60,000 deep': (_request, response) => answer(response, 200, '['.repeat(60_000)),
  'a name that is not UTF-8': rewritten((valid) => Buffer.from(valid.replace('BUDI', 'BUDI\u00e9'), 'latin1')),
  "another account's number": changed({ beneficiaryAccountNo: '9876543210' }),
  'the number with one more leading zero': rewritten((valid) => valid.replace('"beneficiaryAccountNo":"', '$&0')),
  'the number in an array': (request, response) =>
    answer(response, 200, { ...successOf(request), beneficiaryAccountNo: [request.fields['beneficiaryAccountNo']] }),
  'no account number': changed({ beneficiaryAccountNo: undefined }),
  'a null account number': changed({ beneficiaryAccountNo: null }),
  'an empty account number': changed({ beneficiaryAccountNo: '' }),
  "another account's number in a not found": changed({ responseCode: '4041611', beneficiaryAccountNo: '1' }, 404),
  "another bank's code": changed({ beneficiaryBankCode: 'BMRIIDJA' }),
  'a bank code that is no text': changed({ beneficiaryBankCode: { bic: 'BMRIIDJA' } }),
  'the code of another service': changed({ responseCode: '2001500' }),
  'a not found of another service': changed({ responseCode: '4043601' }, 404),
  'no response code': changed({ responseCode: undefined }),
  'a malformed response code': changed({ responseCode: '200160' }),
  'a not found with HTTP 200': changed({ responseCode: '4041611' }),
  'a success with HTTP 404': changed({}, 404),
  'a success with HTTP 500': changed({}, 500),
  'a success with HTTP 202': changed({}, 202),
  'two response codes': rewritten((valid) => valid.replace('{', '{"responseCode":"4041611",')),
  'two names': rewritten((valid) => valid.replace('{', '{"beneficiaryAccountName":"SITI",')),
  'two account numbers': rewritten((valid) => valid.replace('{', '{"beneficiaryAccountNo":"1",')),
  'two account numbers, one spelled with an escape': rewritten((valid) =>
    valid.replace('{', String.raw`{"beneficiaryAccountN\u006f":"1",`),
  ),
  'no name': changed({ beneficiaryAccountName: undefined }),
  'an empty name': changed({ beneficiaryAccountName: '' }),
  'a name of spaces': changed({ beneficiaryAccountName: ' \u00a0 ' }),
  'a name in an array': changed({ beneficiaryAccountName: [HOLDER] }),
  'a name of 10 KB': changed({ beneficiaryAccountName: 'N'.repeat(10_240) }),
  'a control character in the name': changed({ beneficiaryAccountName: 'BUDI\u0000SANTOSO' }),
  'half a surrogate pair in the name': rewritten((valid) => valid.replace('BUDI', String.raw`\ud800`)),
  'an unknown account status': changed({ beneficiaryAccountStatus: 'Menunggu' }),
  'an account status in an array': changed({ beneficiaryAccountStatus: ['Rekening diblokir'] }),
  'an account status that is false': changed({ beneficiaryAccountStatus: false }),
  'a redirect': withHeaders({ location: '/elsewhere' }, 302),
  'a redirect that keeps the method': withHeaders({ location: '/elsewhere' }, 307),
  'a valid reply of more than 64 KiB': changed({ additionalInfo: { padding: 'x'.repeat(64 * 1024) } }),
  'a valid reply, compressed': compressed((valid) => valid),
  'a gzip bomb': compressed((valid) => valid + ' '.repeat(32 * MEBIBYTE)),
  'headers of 32 KB': withHeaders({ 'x-padding': 'x'.repeat(32 * 1024) }),
  'a truncated reply': closeAfter((valid) => valid.slice(0, 20)),
  'a connection closed without a reply': (_request, response) => response.destroy(),
  'something that is not HTTP': (_request, response) => response.socket?.end('220 mail.bank.example ESMTP\r\n'),
};

/** These last until the service's deadline. */
const DELAYS: Readonly<Record<string, BankAnswer>> = {
  'one byte a second': drip,
  'headers without a body': (_request, response) => response.writeHead(200).flushHeaders(),
  'no reply': () => {},
};

const FAULTS = Object.entries({ ...INVALID_REPLIES, ...DELAYS });
/** The bank does not know it, and fills the fields that it has nothing for with empty texts. */
const EMPTY_FIELDS = '7999000001';
const emptyFields = changed(
  {
    responseCode: '4041611',
    partnerReferenceNo: '',
    beneficiaryAccountNo: '',
    beneficiaryAccountName: '',
    beneficiaryBankCode: '',
  },
  404,
);
const accountOf = (index: number): string => `70001000${String(index).padStart(2, '0')}`;

describe('an invalid reply of a bank is not believed', () => {
  let bank: ScriptedBank;
  let service: TestService;

  before(async () => {
    bank = await startScriptedBank({
      inquiry(request, response) {
        const account = request.fields['beneficiaryAccountNo'];
        const fault = FAULTS.find((_each, index) => accountOf(index) === account);
        (fault?.[1] ?? (account === EMPTY_FIELDS ? emptyFields : answerActive))(request, response);
      },
      other: (_request, response) => answer(response, 200, { responseCode: '2001600' }),
    });
    service = await startTestService({
      rails: [bank.rail(rsaKeys())],
      inquiries: { protection: UNPROTECTED },
    });
  });
  after(async () => {
    await service?.close();
    await bank?.close();
  });

  it('a valid reply is believed', async () => {
    const { json } = await check(accountOf(FAULTS.length));
    assert.equal(json.data?.['status'], 'ACTIVE');
    assert.equal(json.data['account_name'], HOLDER);
  });

  // Regression: they counted as another account and another bank, so such a bank never gave NOT_FOUND.
  it('empty texts say as little as fields that are missing', async () => {
    const { json } = await check(EMPTY_FIELDS);
    assert.equal(json.data?.['status'], 'NOT_FOUND');
  });

  for (const name of Object.keys(INVALID_REPLIES)) it(name, () => expectUnavailable(name));

  describe('a slow reply ends at the deadline', { concurrency: true }, () => {
    for (const name of Object.keys(DELAYS)) it(name, { timeout: 20_000 }, () => expectUnavailable(name));
  });

  it('no redirect is followed', () => {
    assert.deepEqual(
      bank.requests.filter(({ path }) => path === '/elsewhere'),
      [],
    );
  });

  async function expectUnavailable(name: string): Promise<void> {
    const account = accountOf(FAULTS.findIndex(([each]) => each === name));
    const startedMs = performance.now();
    const { status, headers, json } = await check(account);
    assert.equal(status, 503);
    assert.equal(json.error_code, 'SERVICE_UNAVAILABLE');
    assert.equal(json.data, undefined);
    assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    assert.ok(performance.now() - startedMs < timeLimitMs(5_000), 'answered within 5 s');
    assert.equal(bank.inquiries.filter((each) => each.fields['beneficiaryAccountNo'] === account).length, 1);
  }

  const check = (account: string): Promise<Answer> =>
    service.checkAccount({ bank_code: 'BRI', account_number: account });
});
