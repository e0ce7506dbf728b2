import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Answer, send, startTestService, type TestService } from '../support/service.ts';
import { active, scriptedRail } from './resilience/scripted-rail.ts';

// Regression: a rail that throws, instead of returning a promise, left its rejected promise among the inquiries in
// flight for good, with its slot and its timer. Every later check of the account failed, and in the end of the bank.

const SLOTS = 64;

const rail = scriptedRail('faulty', () => active('BUDI SANTOSO'));
const hedgedRail = scriptedRail('faulty-hedged', () => active('BUDI SANTOSO'));
rail.reaches = ({ bic }) => bic === 'CENAIDJA';
hedgedRail.reaches = ({ bic }) => bic === 'BRINIDJA';

let service: TestService;
before(async () => {
  const routes = new Map([['BRINIDJA', { rails: null, hedge: true }]]);
  service = await startTestService({ rails: [rail, hedgedRail], inquiries: { routes } });
});
after(() => service?.close());

let lastAccount = 7_000_000_000;
const newAccount = (): string => String((lastAccount += 1_009));

function throwOnce(): never {
  rail.script = hedgedRail.script = () => active('BUDI SANTOSO');
  throw new Error('a defect of the rail');
}

async function inFlight(): Promise<number[]> {
  const { token } = await service.addClient('operator', ['operator:read']);
  const headers = { authorization: `Bearer ${token}` };
  const { json } = await send(`${service.operatorUrl}/operator/v1/rails`, { method: 'GET', headers });
  const rails = (json.data?.['rails'] ?? []) as { banks: { in_flight: number }[] }[];
  return rails.flatMap(({ banks }) => banks.map(({ in_flight }) => in_flight));
}

test('a rail that throws fails only that check, also when inquiries are hedged', async () => {
  for (const bankCode of ['BCA', 'BRI']) {
    for (let turn = 0; turn <= SLOTS; turn += 1) {
      const body = { bank_code: bankCode, account_number: newAccount() };
      rail.script = hedgedRail.script = throwOnce;
      const failed: Answer = await service.checkAccount(body);
      assert.equal(failed.json.error_code, 'INTERNAL_ERROR', failed.text);
      const next = await service.checkAccount(body);
      assert.equal(next.json.data?.['status'], 'ACTIVE', `${bankCode}, turn ${turn}: ${next.text}`);
    }
  }
  assert.deepEqual(await inFlight(), [0, 0]);
});
