import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { InquiryOutcome } from '../../../apps/server/src/rails/rail.ts';
import { PROTECTION } from '../../../apps/server/src/rails/resilience/settings.ts';
import { inquiriesOver, nextAccount } from './inquiries-over.ts';
import { active, noVerdict, scriptedRail, silence } from './scripted-rail.ts';

describe('the limit of inquiries to a bank', () => {
  it('in flight is enforced: further inquiries fail fast and go to the next rail', async () => {
    const first = scriptedRail('first', silence);
    const second = scriptedRail('second', () => active('SECOND'));
    const protection = { ...PROTECTION, concurrencyMax: 5 };
    const { inquire } = inquiriesOver([first, second], { protection });
    const outcomes = Array.from({ length: 10 }, () => inquire());
    assert.deepEqual(
      await Promise.all(outcomes.slice(5)),
      Array.from({ length: 5 }, () => active('SECOND')),
    );
    assert.equal(first.inquiries.length, 5);
    await Promise.all(outcomes);
  });

  // One client that checked accounts of a slow bank used all of the bank's capacity, and other clients waited.
  it('in flight is shared by clients: one that checks accounts of a slow bank does not hold all slots', async () => {
    const answer = Promise.withResolvers<InquiryOutcome>();
    const rail = scriptedRail('slow', () => answer.promise);
    const { inquire, spareCapacity } = inquiriesOver([rail], { protection: { ...PROTECTION, concurrencyMax: 8 } });
    const ofBeta = [inquire('BCA', nextAccount(), 'beta')];
    const ofAlpha = Array.from({ length: 20 }, () => inquire());
    assert.equal(rail.inquiries.length, 1 + 4, 'of seven slots, alpha leaves as many as it takes, at least');
    assert.deepEqual(await ofAlpha[19], { ...noVerdict('bulkhead_full'), retryAfterMs: 1_000 });
    ofBeta.push(inquire('BCA', nextAccount(), 'beta'));
    assert.equal(rail.inquiries.length, 6, 'another client finds a slot');
    answer.resolve(active('ALIVE'));
    assert.deepEqual(await Promise.all(ofBeta), [active('ALIVE'), active('ALIVE')]);
    await Promise.all(ofAlpha);
    assert.equal(spareCapacity(), 4, "alpha's own limit does not pause the bulk validations of others");
  });

  it('in flight over a shared connection leaves slots for other banks', async () => {
    const rail = scriptedRail('switch', (inquiry, signal) =>
      inquiry.bank.bic === 'CENAIDJA' ? silence(inquiry, signal) : active('ALIVE'),
    );
    const limits = { perSecond: null, perDay: null, concurrencyMax: 4, isShared: true };
    const { inquire } = inquiriesOver([rail], { limitsByRail: new Map([['switch', limits]]) });
    const silent = Array.from({ length: 4 }, () => inquire('BCA'));
    assert.deepEqual(await inquire('BRI'), active('ALIVE'));
    assert.deepEqual(await silent[3], { ...noVerdict('bulkhead_full'), retryAfterMs: 1_000 });
    assert.equal(rail.inquiries.length, 3);
    await Promise.all(silent);
  });

  it('in flight is reported for the rail and for each bank, also where the contract has no limit', async () => {
    for (const concurrencyMax of [null, 10]) {
      let release = (_outcome: InquiryOutcome): void => {};
      const answer = new Promise<InquiryOutcome>((resolve) => (release = resolve));
      const rail = scriptedRail('switch', () => answer);
      const limits = { perSecond: null, perDay: null, concurrencyMax, isShared: true };
      const { inquire, snapshot } = inquiriesOver([rail], { limitsByRail: new Map([['switch', limits]]) });
      const reported = () => [
        snapshot()[0]?.concurrencyMax,
        snapshot()[0]?.inFlight,
        snapshot()[0]?.banks.map((each) => each.health.inFlight),
      ];
      assert.deepEqual(reported(), [concurrencyMax, 0, []]);
      const inFlight = [inquire('BCA'), inquire('BCA'), inquire('BRI')];
      assert.deepEqual(reported(), [concurrencyMax, 3, [2, 1]]);
      release(active('ALIVE'));
      await Promise.all(inFlight);
      assert.deepEqual(reported(), [concurrencyMax, 0, [0, 0]]);
    }
  });

  it('per second is that of the contract, over all banks, and Retry-After says when the next may be sent', async () => {
    const rail = scriptedRail('switch', () => active('ALIVE'));
    const limits = { perSecond: 2, perDay: null, concurrencyMax: null, isShared: true };
    const { inquire, advance } = inquiriesOver([rail], { limitsByRail: new Map([['switch', limits]]) });
    await inquire('BCA');
    await inquire('BRI');
    advance(400);
    assert.deepEqual(await inquire('BNI'), { ...noVerdict('quota_exhausted'), retryAfterMs: 600 });
    advance(600);
    assert.deepEqual(await inquire('BNI'), active('ALIVE'));
    assert.equal(rail.inquiries.length, 3);
  });

  it('per day ends at midnight in Jakarta', async () => {
    let wallMs = Date.parse('2026-11-21T16:59:50.000Z');
    const rail = scriptedRail('only', () => active('ALIVE'));
    const limits = { perSecond: null, perDay: 1, concurrencyMax: null, isShared: true };
    const limitsByRail = new Map([['only', limits]]);
    const { inquire, snapshot } = inquiriesOver([rail], { limitsByRail, wallClock: () => wallMs });
    await inquire();
    assert.deepEqual(await inquire(), { ...noVerdict('quota_exhausted'), retryAfterMs: 10_000 });
    assert.deepEqual(snapshot()[0]?.quotaLeft, { second: null, day: 0 });
    wallMs += 10_000;
    assert.deepEqual(await inquire(), active('ALIVE'));
  });
});
