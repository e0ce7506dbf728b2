import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { inquireAccount } from './connection.ts';
import {
  answer,
  answerActive,
  type BankAnswer,
  type BankRequest,
  issueToken,
  type Script,
  type ScriptedBank,
  startScriptedBank,
} from './scripted-bank.ts';

const keys = rsaKeys();
const ACCOUNT = '888801000157508';

const tokenOf = ({ headers }: BankRequest): string => String(headers.authorization).replace(/^Bearer /, '');
const accountOf = (index: number): string => `8888010${String(index).padStart(3, '0')}`;

/** A bank that is closed after the test. */
async function useBank(t: TestContext, script: Script): Promise<ScriptedBank> {
  const bank = await startScriptedBank(script);
  t.after(() => bank.close());
  return bank;
}

/** Accepts only these tokens; replies 401 to all others. */
const acceptOnly =
  (isValid: (token: string) => boolean, caseCode = '01'): BankAnswer =>
  (request, response) => {
    if (isValid(tokenOf(request))) return answerActive(request, response);
    return answer(response, 401, { responseCode: `40116${caseCode}`, responseMessage: 'Unauthorized' });
  };

describe("the SNAP rail's access token", () => {
  it('is cached: many inquiries need one', async (t) => {
    const bank = await useBank(t, {});
    const rail = bank.rail(keys);
    for (let index = 0; index < 50; index += 1) {
      assert.equal((await inquireAccount(rail, 'BRI', accountOf(index))).kind, 'verdict');
    }
    assert.equal(bank.tokenRequests.length, 1);
    assert.equal(bank.inquiries.length, 50);
  });

  it('is requested once for 100 concurrent inquiries', async (t) => {
    const bank = await useBank(t, {});
    const rail = bank.rail(keys);
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_each, index) => inquireAccount(rail, 'BRI', accountOf(index))),
    );
    assert.ok(outcomes.every(({ kind }) => kind === 'verdict'));
    assert.equal(bank.tokenRequests.length, 1);
    assert.equal(bank.inquiries.length, 100);
  });

  it('is replaced before it expires', async (t) => {
    const lifetimeMs = 2_000;
    const issuedMs = new Map<string, number>();
    const bank = await useBank(t, {
      token(request, response) {
        issueNext(request, response);
        issuedMs.set(`token-${issuedMs.size + 1}`, performance.now());
      },
      inquiry: acceptOnly((token) => performance.now() - (issuedMs.get(token) ?? 0) < lifetimeMs),
    });
    const issueNext = issueToken(String(lifetimeMs / 1000));
    const rail = bank.rail(keys);
    await eventually(
      'the token was replaced twice',
      async () => {
        assert.equal((await inquireAccount(rail, 'BRI', ACCOUNT)).kind, 'verdict');
        return bank.tokenRequests.length >= 3;
      },
      10_000,
    );
    // An inquiry with an expired token would have been rejected and repeated with the next one.
    assert.ok(bank.inquiries.every((each) => issuedMs.has(tokenOf(each))));
    const [first = 0, second = 0] = issuedMs.values();
    assert.ok(second - first < lifetimeMs, 'before it expires');
    assert.ok(second - first > lifetimeMs / 4, 'not with every inquiry');
  });

  it('that the bank has revoked is replaced, and the inquiry is repeated with a new id and signature', async (t) => {
    const bank = await useBank(t, {
      async inquiry(request, response) {
        // Rejected only when the second of the signature is over, so that the next timestamp differs.
        const signedMs = Date.parse(String(request.headers['x-timestamp']));
        if (tokenOf(request) === 'token-1') {
          await eventually('the second of the signature is over', () => Date.now() >= signedMs + 1_000);
        }
        return acceptOnly((token) => token === 'token-2')(request, response);
      },
    });
    const outcome = await inquireAccount(bank.rail(keys), 'BRI', ACCOUNT);
    assert.equal(outcome.kind, 'verdict');
    assert.deepEqual(bank.inquiries.map(tokenOf), ['token-1', 'token-2']);
    const [first, second] = bank.inquiries as [BankRequest, BankRequest];
    for (const name of ['x-external-id', 'x-timestamp', 'x-signature']) {
      assert.notEqual(first.headers[name], second.headers[name], name);
    }
    assert.notEqual(first.fields['partnerReferenceNo'], second.fields['partnerReferenceNo']);
    assert.equal(first.fields['beneficiaryAccountNo'], second.fields['beneficiaryAccountNo']);
  });

  it('that the bank has revoked is replaced once for 100 concurrent inquiries', async (t) => {
    const bank = await useBank(t, { inquiry: acceptOnly((token) => token === 'token-2') });
    const rail = bank.rail(keys);
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_each, index) => inquireAccount(rail, 'BRI', accountOf(index))),
    );
    assert.ok(outcomes.every(({ kind }) => kind === 'verdict'));
    assert.equal(bank.tokenRequests.length, 2);
  });

  it('that is rejected a second time is no verdict, and the inquiry is not repeated again', async (t) => {
    const bank = await useBank(t, { inquiry: acceptOnly(() => false) });
    const outcome = await inquireAccount(bank.rail(keys), 'BRI', ACCOUNT);
    assert.deepEqual(outcome, { kind: 'no_verdict', reason: 'credentials_rejected', railCode: '4011601' });
    assert.equal(bank.inquiries.length, 2);
    assert.equal(bank.tokenRequests.length, 2);
  });

  // Regression: each inquiry with a wrong signature was sent twice, and asked for a token in between.
  it('is not the cause of 401xx00: the inquiry is not repeated, and the next one has a new token', async (t) => {
    const bank = await useBank(t, { inquiry: acceptOnly(() => false, '00') });
    const rail = bank.rail(keys);
    const outcome = await inquireAccount(rail, 'BRI', ACCOUNT);
    assert.deepEqual(outcome, { kind: 'no_verdict', reason: 'credentials_rejected', railCode: '4011600' });
    assert.equal(bank.inquiries.length, 1);
    assert.equal(bank.tokenRequests.length, 1);
    await inquireAccount(rail, 'BRI', ACCOUNT);
    assert.deepEqual(bank.inquiries.map(tokenOf), ['token-1', 'token-2']);
  });

  it('is replaced after a 401 without a response code, as gateways send it', async (t) => {
    const isValid = (request: BankRequest): boolean => tokenOf(request) === 'token-2';
    const bank = await useBank(t, {
      inquiry: (request, response) =>
        isValid(request) ? answerActive(request, response) : answer(response, 401, '<html></html>'),
    });
    assert.equal((await inquireAccount(bank.rail(keys), 'BRI', ACCOUNT)).kind, 'verdict');
    assert.equal(bank.inquiries.length, 2);
  });

  it('is not replaced after any other rejection', async (t) => {
    const bank = await useBank(t, {
      inquiry: (_request, response) => answer(response, 403, { responseCode: '4031601' }),
    });
    const rail = bank.rail(keys);
    for (let index = 0; index < 3; index += 1) await inquireAccount(rail, 'BRI', ACCOUNT);
    assert.equal(bank.inquiries.length, 3);
    assert.equal(bank.tokenRequests.length, 1);
  });

  const UNUSABLE: Readonly<Record<string, [body: string, status: number, reason: string]>> = {
    'a rejection': [
      '{"responseCode":"4017300","responseMessage":"Unauthorized. [Signature]"}',
      401,
      'credentials_rejected',
    ],
    'a malformed request': ['{"responseCode":"4007300"}', 400, 'credentials_rejected'],
    'an outage': ['{"responseCode":"5047300"}', 504, 'timeout'],
    'too many requests': ['{"responseCode":"4297300"}', 429, 'throttled'],
    'no token': ['{"responseCode":"2007300","tokenType":"Bearer","expiresIn":"900"}', 200, 'invalid_response'],
    'an empty token': ['{"accessToken":"","expiresIn":"900"}', 200, 'invalid_response'],
    'a token that would break the header': [
      String.raw`{"accessToken":"a\r\nX-PARTNER-ID: b","expiresIn":"900"}`,
      200,
      'invalid_response',
    ],
    'a token of 3 KB': [`{"accessToken":"${'x'.repeat(3_072)}","expiresIn":"900"}`, 200, 'invalid_response'],
    'a token without a lifetime': ['{"accessToken":"x"}', 200, 'invalid_response'],
    'a token that has expired already': ['{"accessToken":"x","expiresIn":"0"}', 200, 'invalid_response'],
    'a token without expiry': ['{"accessToken":"x","expiresIn":"Infinity"}', 200, 'invalid_response'],
    'a token with HTTP 500': ['{"accessToken":"x","expiresIn":"900"}', 500, 'bank_unavailable'],
    'two tokens': ['{"accessToken":"x","accessToken":"y","expiresIn":"900"}', 200, 'invalid_response'],
    HTML: ['<html></html>', 200, 'invalid_response'],
  };

  for (const [what, [body, status, reason]] of Object.entries(UNUSABLE)) {
    it(`request that ends in ${what} is no verdict, and no inquiry is sent`, async (t) => {
      const bank = await useBank(t, { token: (_request, response) => answer(response, status, body) });
      const outcome = await inquireAccount(bank.rail(keys), 'BRI', ACCOUNT);
      assert.equal(outcome.kind === 'no_verdict' ? outcome.reason : outcome.kind, reason);
      assert.equal(bank.inquiries.length, 0);
    });
  }

  it('is requested again after the bank issued none', async (t) => {
    let isDown = true;
    const issue = issueToken();
    const bank = await useBank(t, {
      token: (request, response) => (isDown ? answer(response, 500, '') : issue(request, response)),
    });
    const rail = bank.rail(keys);
    assert.equal((await inquireAccount(rail, 'BRI', ACCOUNT)).kind, 'no_verdict');
    isDown = false;
    assert.equal((await inquireAccount(rail, 'BRI', ACCOUNT)).kind, 'verdict');
  });
});

describe('a bank that issues no token is SERVICE_UNAVAILABLE', { concurrency: true }, () => {
  let rejecting: ScriptedBank;
  let silent: ScriptedBank;
  let service: TestService;
  before(async () => {
    rejecting = await startScriptedBank({
      token: (_request, response) => answer(response, 401, { responseCode: '4017300' }),
    });
    silent = await startScriptedBank({ token: () => {} });
    service = await startTestService({
      rails: [
        rejecting.rail(keys, { banks: new Set(['BRINIDJA']) }),
        silent.rail(keys, { banks: new Set(['BMRIIDJA']) }),
      ],
    });
  });
  after(async () => {
    await service?.close();
    await rejecting?.close();
    await silent?.close();
  });

  it('when it rejects the token request', () => isUnavailable('BRINIDJA'));
  it('when it never replies', () => isUnavailable('BMRIIDJA'));

  async function isUnavailable(bankCode: string): Promise<void> {
    const startedMs = performance.now();
    const { status, headers, json } = await service.checkAccount({ bank_code: bankCode, account_number: ACCOUNT });
    assert.equal(status, 503);
    assert.equal(json.error_code, 'SERVICE_UNAVAILABLE');
    assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    assert.ok(performance.now() - startedMs < timeLimitMs(5_000), 'answered within 5 s');
    assert.deepEqual([...rejecting.inquiries, ...silent.inquiries], []);
  }
});
