import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { answer, answerActive, type ScriptedBank, startScriptedBank } from '../rails/scripted-bank.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { type Answer, startTestService, type TestService } from '../support/service.ts';

/** The bank fails over accounts that begin like this, and answers about all others. */
const FAILING = '99';

let bank: ScriptedBank;
let service: TestService;
before(async () => {
  bank = await startScriptedBank({
    inquiry: (request, response) =>
      request.body.includes(`"${FAILING}`) ? answer(response, 500, {}) : answerActive(request, response),
  });
  service = await startTestService({ rails: [bank.rail(rsaKeys())] });
});
after(async () => {
  await service?.close();
  await bank?.close();
});

/** Far apart, so that they do not look like an enumeration. */
const accountNumber = (prefix: string, index: number): string =>
  `${prefix}${String(index * 1_234_567).padStart(8, '0')}`;

const check = (account: string, token?: string): Promise<Answer> =>
  service.checkAccount({ bank_code: 'BCA', account_number: account }, token === undefined ? {} : { token });

// A client that knew many accounts over which a bank failed opened the circuit breaker of that bank for all clients.
test('a client whose accounts make a bank fail is suspended at that bank, and no other client is', async () => {
  const ofBeta: number[] = [];
  let rejected: Answer | undefined;
  for (let round = 0; round < 10; round += 1) {
    ofBeta.push((await check(accountNumber('11', round), service.beta.token)).status);
    for (let index = 0; index < 5; index += 1) {
      const ofAlpha = await check(accountNumber(FAILING, round * 5 + index));
      assert.equal(ofAlpha.status, 503);
      rejected = ofAlpha;
    }
  }
  assert.deepEqual(
    ofBeta,
    Array.from({ length: 10 }, () => 200),
  );
  const retryAfter = Number(rejected?.headers.get('retry-after'));
  assert.ok(retryAfter >= 1 && retryAfter <= 60, `Retry-After is ${retryAfter}`);
  const failing = new Set(bank.inquiries.map(({ fields }) => fields['beneficiaryAccountNo']));
  const sent = [...failing].filter((account) => account?.startsWith(FAILING)).length;
  assert.ok(sent <= 12, `${sent} accounts over which it fails were sent to the bank`);
  const logged = service.logged.find(({ msg }) => /of one client to this bank are paused/.test(String(msg)));
  assert.equal(logged?.['clientId'], 'alpha');
  assert.deepEqual(
    service.logged.filter(({ msg }) => /circuit breaker opened/.test(String(msg))),
    [],
  );
});
