import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { createMetrics } from '../../../apps/server/src/observability/metrics.ts';
import { createAccountInquiries } from '../../../apps/server/src/rails/account-inquiries.ts';
import type { InquiryOutcome, Rail } from '../../../apps/server/src/rails/rail.ts';
import { PROTECTION } from '../../../apps/server/src/rails/resilience/settings.ts';
import { eventually } from '../../support/eventually.ts';
import { inquiryOf } from '../connection.ts';
import { accounts, active, noVerdict, type Script, scriptedRail, silence, withoutRail } from './scripted-rail.ts';
import { seededRandom } from './seed.ts';

const nextAccount = accounts();

function hedgedInquiries(rails: readonly Rail[], hedge = true) {
  const routes = new Map([['CENAIDJA', { rails: null, hedge }]]);
  const inquiries = createAccountInquiries(rails, createMetrics(), { routes });
  const inquire = async () => withoutRail(await inquiries.inquire(inquiryOf('BCA', nextAccount())));
  return {
    inquire,
    snapshot: inquiries.snapshot,
    /** Records fast replies of the bank, and saves up this many hedged inquiries. */
    async warmUp(extra: number): Promise<void> {
      for (let turn = 0; turn < extra * 50; turn += 1) await inquire();
    },
  };
}

/** Runs these scripts one after the other, and the last one from then on. */
const inSequence =
  (...scripts: readonly Script[]): Script =>
  (inquiry, signal) => {
    const [next, ...rest] = scripts;
    if (rest.length > 0) scripts = rest;
    return (next ?? silence)(inquiry, signal);
  };

describe('a hedged inquiry', () => {
  it('is sent when the first is slower than most; the first verdict wins and cancels the other', async () => {
    const rail = scriptedRail('only', () => active('FAST'));
    const { inquire, warmUp, snapshot } = hedgedInquiries([rail]);
    await warmUp(1);
    const before = rail.inquiries.length;
    rail.script = inSequence(silence, () => active('SECOND'));
    assert.deepEqual(await inquire(), active('SECOND'));
    const [slow, second, ...more] = rail.inquiries.slice(before);
    assert.equal(slow?.account, second?.account);
    assert.ok(slow?.signal.aborted);
    assert.equal(more.length, 0);
    assert.equal(snapshot()[0]?.banks[0]?.health.inFlight, 0, 'no slot stays occupied');
  });

  it('goes to the next rail, where there is one', async () => {
    const first = scriptedRail('first', () => active('FIRST'));
    const second = scriptedRail('second', () => active('SECOND'));
    const { inquire, warmUp } = hedgedInquiries([first, second]);
    await warmUp(1);
    first.script = silence;
    assert.deepEqual(await inquire(), active('SECOND'));
  });

  it('is cancelled when the first inquiry gives its verdict sooner', async () => {
    const rail = scriptedRail('only', () => active('FAST'));
    const { inquire, warmUp } = hedgedInquiries([rail]);
    await warmUp(1);
    let hedgeIsSent = (): void => {};
    const hedged = new Promise<void>((resolve) => (hedgeIsSent = resolve));
    rail.script = inSequence(
      () => hedged.then(() => active('FIRST AFTER ALL')),
      (inquiry, signal) => {
        hedgeIsSent();
        return silence(inquiry, signal);
      },
    );
    assert.deepEqual(await inquire(), active('FIRST AFTER ALL'));
    assert.ok(rail.inquiries.at(-1)?.signal.aborted);
  });

  it('does not hide the verdict of the other when it ends without one', async () => {
    const rail = scriptedRail('only', () => active('FAST'));
    const { inquire, warmUp } = hedgedInquiries([rail]);
    await warmUp(2);
    rail.script = inSequence(
      () => wait(30, active('LATE')),
      () => noVerdict('bank_unavailable'),
    );
    assert.deepEqual(await inquire(), active('LATE'));
  });

  it('is sent for at most one in fifty inquiries, however slow the bank becomes', async (t) => {
    const random = seededRandom(t);
    const rail = scriptedRail('only', () => active('FAST'));
    const { inquire, warmUp } = hedgedInquiries([rail]);
    await warmUp(2);
    rail.script = () => wait(2 + random() * 30, active('SLOW'));
    let ordinary = 100;
    for (let round = 0; round < 30; round += 1) {
      await Promise.all(Array.from({ length: 20 }, inquire));
      ordinary += 20;
      const extra = rail.inquiries.length - ordinary;
      assert.ok(extra <= ordinary / 50, `${extra} hedged of ${ordinary}`);
    }
    if (rail.inquiries.length === ordinary) {
      // A machine that is busy delays all replies alike, so that none was late. This one is.
      rail.script = inSequence(silence, () => active('SECOND'));
      assert.deepEqual(await inquire(), active('SECOND'));
      ordinary += 1;
    }
    assert.ok(rail.inquiries.length > ordinary, 'some are hedged');
  });

  it('is not sent unless the route asks for hedging', async () => {
    const rail = scriptedRail('only', () => active('FAST'));
    const { inquire, warmUp } = hedgedInquiries([rail], false);
    await warmUp(2);
    rail.script = () => wait(30, active('SLOW'));
    const before = rail.inquiries.length;
    assert.deepEqual(await inquire(), active('SLOW'));
    assert.equal(rail.inquiries.length, before + 1);
  });

  // Regression: between the check of the rail and the beginning of the hedged inquiry another inquiry could take the
  // last slot, and the bulkhead was exceeded by one.
  it('does not exceed the bulkhead when another inquiry begins at the same moment', async () => {
    const rail = scriptedRail('only', () => active('FAST'));
    const slots = 2;
    let onCheck: (() => void) | null = null;
    const inquiries = createAccountInquiries([rail], createMetrics(), {
      routes: new Map([['CENAIDJA', { rails: null, hedge: true }]]),
      protection: { ...PROTECTION, hedgeOneIn: 1 },
      limitsByRail: new Map([['only', { perSecond: null, perDay: 1_000_000, concurrencyMax: slots, isShared: false }]]),
      // The day's quota reads this clock in each check whether the rail accepts an inquiry.
      wallClock: () => {
        onCheck?.();
        return Date.now();
      },
    });
    const inquire = () => inquiries.inquire(inquiryOf('BCA', nextAccount()));
    // Replies that make the rail's usual duration known, and pay for hedged inquiries.
    for (let turn = 0; turn < 30; turn += 1) await inquire();

    const replies: ((outcome: InquiryOutcome) => void)[] = [];
    rail.script = () => new Promise((resolve) => replies.push(resolve));
    const slow = inquire();
    const other = Promise.withResolvers<InquiryOutcome>();
    onCheck = () => {
      onCheck = null;
      queueMicrotask(() => other.resolve(inquire()));
    };
    await eventually('the late inquiry is hedged', () => onCheck === null && replies.length >= slots);
    await new Promise(setImmediate);
    assert.equal(replies.length, slots);
    for (const reply of replies) reply(active('SLOW'));
    assert.deepEqual(withoutRail(await slow), active('SLOW'));
    assert.deepEqual(withoutRail(await other.promise), { ...noVerdict('bulkhead_full'), retryAfterMs: 1_000 });
  });
});
