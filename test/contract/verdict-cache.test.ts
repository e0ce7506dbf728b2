import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { createVerdictCache } from '../../apps/server/src/account-checks/verdict-cache.ts';
import { acceptedAgeSeconds } from '../../apps/server/src/http/request-headers.ts';
import type { InquiryOutcome, Rail } from '../../apps/server/src/rails/rail.ts';
import { startTestService, type TestService } from '../support/service.ts';

/** docs/contract.md 4.3: `Cache-Control: max-age` on check-account, if the operator has enabled the verdict cache. */

const VERDICT = { kind: 'verdict', verdict: { status: 'NOT_FOUND' }, railCode: '4041611' } as const;

/** A rail that counts its inquiries, and has no verdict about accounts that end in 0. */
function countingRail(): Rail & { inquiries: number } {
  const rail = {
    name: 'counting',
    inquiries: 0,
    reaches: () => true,
    async inquireAccount({ accountNumber }: { accountNumber: { reveal(): string } }): Promise<InquiryOutcome> {
      rail.inquiries += 1;
      if (accountNumber.reveal().endsWith('0')) return { kind: 'no_verdict', reason: 'timeout', railCode: null };
      return VERDICT;
    },
    close: async () => {},
  };
  return rail;
}

suite('cached verdicts', () => {
  let rail: ReturnType<typeof countingRail>;
  let service: TestService;
  before(async () => {
    rail = countingRail();
    service = await startTestService({ rails: [rail], settings: { verdictSeconds: 60 } });
  });
  after(() => service?.close());

  const check = async (account: string, cacheControl: string | null, token?: string) => {
    const before = rail.inquiries;
    const answer = await service.checkAccount(
      { bank_code: 'BNI', account_number: account },
      {
        headers: cacheControl === null ? {} : { 'cache-control': cacheControl },
        ...(token === undefined ? {} : { token }),
      },
    );
    return { ...answer, age: answer.headers.get('age'), inquiries: rail.inquiries - before };
  };

  test('are returned to a client that accepts their age, with the age in Age', async () => {
    const first = await check('1234567891', 'max-age=30');
    assert.deepEqual([first.status, first.inquiries, first.age], [200, 1, null]);
    const second = await check('1234567891', 'max-age=30');
    assert.deepEqual([second.status, second.inquiries], [200, 0]);
    assert.match(second.age ?? '', /^[0-9]+$/);
    assert.deepEqual(second.json.data, first.json.data);
    assert.equal(second.headers.get('cache-control'), 'no-store');
  });

  test('are not returned without max-age, nor with a directive that demands a fresh verdict', async () => {
    await check('1234567892', null);
    for (const cacheControl of [
      null,
      'max-age=0',
      'no-cache',
      'no-store, max-age=60',
      'max-age=60, no-cache',
      'max-age=-1',
    ]) {
      const { inquiries, age } = await check('1234567892', cacheControl);
      assert.deepEqual([inquiries, age], [1, null], String(cacheControl));
    }
  });

  test('belong to the client that made the check, so that no client learns what others check', async () => {
    await check('1234567893', null);
    const { inquiries } = await check('1234567893', 'max-age=60', service.beta.token);
    assert.equal(inquiries, 1);
  });

  test('are verdicts only: no verdict is not cached', async () => {
    assert.equal((await check('1234567890', 'max-age=60')).status, 503);
    assert.ok((await check('1234567890', 'max-age=60')).inquiries > 0);
  });

  test('are not stored at all by default', async (t) => {
    const other = countingRail();
    const strict = await startTestService({ rails: [other] });
    t.after(() => strict.close());
    for (let count = 1; count <= 2; count += 1) {
      const { headers } = await strict.checkAccount(
        { bank_code: 'BNI', account_number: '1234567891' },
        { headers: { 'cache-control': 'max-age=60' } },
      );
      assert.deepEqual([other.inquiries, headers.get('age')], [count, null]);
    }
  });

  test("expire after the operator's time, whatever age the client accepts", () => {
    let nowMs = 0;
    const cache = createVerdictCache({ ttlSeconds: 60, clock: () => nowMs });
    assert.ok(cache !== null);
    cache.put('client', 'account', VERDICT);
    nowMs = 59_000;
    assert.deepEqual(cache.find('client', 'account', 60), { outcome: VERDICT, ageSeconds: 59 });
    assert.equal(cache.find('client', 'account', 58), null);
    nowMs = 60_001;
    assert.equal(cache.find('client', 'account', 9_999), null);
  });

  test('directives of Cache-Control that are not understood are ignored', () => {
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
