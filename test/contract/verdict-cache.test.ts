import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { createVerdictCache } from '../../apps/server/src/account-checks/verdict-cache.ts';
import { acceptedAgeSeconds } from '../../apps/server/src/http/request-headers.ts';
import type { InquiryOutcome, Rail } from '../../apps/server/src/rails/rail.ts';
import { startTestService, type TestService } from '../support/service.ts';

/** Freshness: `Cache-Control: max-age` on check-account, where the operator lets verdicts be kept. */

const VERDICT = { kind: 'verdict', verdict: { status: 'NOT_FOUND' }, railCode: '4041611' } as const;

/** A bank that counts what it is asked, and can say nothing of accounts that end in 0. */
function countingRail(): Rail & { asked: number } {
  const rail = {
    name: 'counting',
    asked: 0,
    reaches: () => true,
    async inquireAccount({ accountNumber }: { accountNumber: { reveal(): string } }): Promise<InquiryOutcome> {
      rail.asked += 1;
      if (accountNumber.reveal().endsWith('0')) return { kind: 'no_verdict', reason: 'timeout', railCode: null };
      return VERDICT;
    },
    close: async () => {},
  };
  return rail;
}

suite('verdicts that are kept', () => {
  let rail: ReturnType<typeof countingRail>;
  let service: TestService;
  before(async () => {
    rail = countingRail();
    service = await startTestService({ rails: [rail], settings: { verdictSeconds: 60 } });
  });
  after(() => service?.close());

  const check = async (account: string, cacheControl: string | null, token?: string) => {
    const before = rail.asked;
    const answer = await service.checkAccount(
      { bank_code: 'BNI', account_number: account },
      {
        headers: cacheControl === null ? {} : { 'cache-control': cacheControl },
        ...(token === undefined ? {} : { token }),
      },
    );
    return { ...answer, age: answer.headers.get('age'), asked: rail.asked - before };
  };

  test('are answered to who accepts their age, and tell it', async () => {
    const first = await check('1234567891', 'max-age=30');
    assert.deepEqual([first.status, first.asked, first.age], [200, 1, null]);
    const second = await check('1234567891', 'max-age=30');
    assert.deepEqual([second.status, second.asked], [200, 0]);
    assert.match(second.age ?? '', /^[0-9]+$/);
    assert.deepEqual(second.json.data, first.json.data);
    assert.equal(second.headers.get('cache-control'), 'no-store');
  });

  test('are not answered to who says nothing, or wants it fresh', async () => {
    await check('1234567892', null);
    for (const cacheControl of [
      null,
      'max-age=0',
      'no-cache',
      'no-store, max-age=60',
      'max-age=60, no-cache',
      'max-age=-1',
    ]) {
      const { asked, age } = await check('1234567892', cacheControl);
      assert.deepEqual([asked, age], [1, null], String(cacheControl));
    }
  });

  test('are of the client that asked, so that nobody learns what others ask', async () => {
    await check('1234567893', null);
    const { asked } = await check('1234567893', 'max-age=60', service.beta.token);
    assert.equal(asked, 1);
  });

  test('are verdicts only: that a bank could not say is not kept', async () => {
    assert.equal((await check('1234567890', 'max-age=60')).status, 503);
    assert.ok((await check('1234567890', 'max-age=60')).asked > 0);
  });

  test('are not kept at all by default', async (t) => {
    const other = countingRail();
    const strict = await startTestService({ rails: [other] });
    t.after(() => strict.close());
    for (let count = 1; count <= 2; count += 1) {
      const { headers } = await strict.checkAccount(
        { bank_code: 'BNI', account_number: '1234567891' },
        { headers: { 'cache-control': 'max-age=60' } },
      );
      assert.deepEqual([other.asked, headers.get('age')], [count, null]);
    }
  });

  test("go when the operator's time is over, whatever the client accepts", () => {
    let nowMs = 0;
    const kept = createVerdictCache(60, () => nowMs);
    assert.ok(kept !== null);
    kept.put('key', VERDICT);
    nowMs = 59_000;
    assert.deepEqual(kept.find('key', 60), { outcome: VERDICT, ageSeconds: 59 });
    assert.equal(kept.find('key', 58), null);
    nowMs = 60_001;
    assert.equal(kept.find('key', 9_999), null);
  });

  test('what is not understood of Cache-Control is passed over', () => {
    const read: Readonly<Record<string, number>> = {
      'max-age=5': 5,
      ' Max-Age = "7" , foo=bar': 7,
      'max-stale=9': 0,
      'max-age=9999999999': 0,
      'max-age': 0,
      '': 0,
    };
    for (const [text, seconds] of Object.entries(read)) assert.equal(acceptedAgeSeconds(text), seconds, text);
  });
});
