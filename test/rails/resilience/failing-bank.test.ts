import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bankHealths } from '../../../apps/server/src/rails/bank-status.ts';
import type { InquiryOutcome } from '../../../apps/server/src/rails/rail.ts';
import { PROTECTION } from '../../../apps/server/src/rails/resilience/settings.ts';
import { inquiriesOver, nextAccount } from './inquiries-over.ts';
import { active, noVerdict, scriptedRail } from './scripted-rail.ts';

describe('a bank that fails', () => {
  it('opens the circuit breaker, and Retry-After says when it is probed', async () => {
    const rail = scriptedRail('only', () => noVerdict('unreachable'));
    const { inquire, advance } = inquiriesOver([rail]);
    for (let time = 0; time < 5; time += 1) await inquire();
    advance(1_200);
    assert.deepEqual(await inquire(), { ...noVerdict('circuit_open'), retryAfterMs: 3_800 });
    assert.equal(rail.inquiries.length, 5);
  });

  it('is skipped: the next rail answers at once', async () => {
    const first = scriptedRail('first', () => noVerdict('invalid_response'));
    const second = scriptedRail('second', () => active('SECOND'));
    const { inquire } = inquiriesOver([first, second]);
    for (let time = 0; time < 50; time += 1) assert.deepEqual(await inquire(), active('SECOND'));
    assert.equal(first.inquiries.length, 5);
    assert.equal(second.inquiries.length, 50);
  });

  it('does not affect other banks on the same rail', async () => {
    const rail = scriptedRail('switch', ({ bank }) =>
      bank.bic === 'CENAIDJA' ? noVerdict('bank_unavailable') : active('ALIVE'),
    );
    const { inquire } = inquiriesOver([rail]);
    for (let time = 0; time < 10; time += 1) await inquire('BCA');
    assert.deepEqual(await inquire('BRI'), active('ALIVE'));
    assert.equal((await inquire('BCA')).kind, 'no_verdict');
  });

  it('gets one probe after the open time, and all inquiries once the probe succeeded', async () => {
    const rail = scriptedRail('only', () => noVerdict('unreachable'));
    const { inquire, advance } = inquiriesOver([rail]);
    for (let time = 0; time < 5; time += 1) await inquire();
    advance(5_000);
    let release = (_outcome: InquiryOutcome): void => {};
    rail.script = () => new Promise((resolve) => (release = resolve));
    const probe = inquire();
    const others = await Promise.all([inquire(), inquire()]);
    assert.deepEqual(
      others.map((each) => (each.kind === 'no_verdict' ? each.reason : each.kind)),
      ['circuit_open', 'circuit_open'],
    );
    assert.equal(rail.inquiries.length, 6);
    release(active('BACK'));
    assert.deepEqual(await probe, active('BACK'));
    rail.script = () => active('BACK');
    assert.deepEqual(await inquire(), active('BACK'));
  });

  it('keeps its breaker closed when only one account fails', async () => {
    const rail = scriptedRail('only', () => noVerdict('invalid_response'));
    const { inquire } = inquiriesOver([rail]);
    const account = nextAccount();
    for (let time = 0; time < 20; time += 1) await inquire('BCA', account);
    assert.equal(rail.inquiries.length, 20);
  });

  for (const reason of ['bank_unavailable', 'timeout', 'invalid_response'] as const) {
    it(`stays UP when only a few accounts end in ${reason}, in any order`, async () => {
      const rail = scriptedRail('only', () => noVerdict(reason));
      const { inquire, snapshot } = inquiriesOver([rail]);
      const failing = Array.from({ length: 4 }, () => nextAccount());
      for (let time = 0; time < 40; time += 1) await inquire('BCA', failing[0]);
      for (let time = 0; time < 40; time += 1) await inquire('BCA', failing[time % 4]);
      assert.ok(rail.inquiries.length >= 80);
      assert.equal(bankHealths(snapshot()).get('CENAIDJA')?.status, 'UP');
      rail.script = () => active('FINE');
      assert.deepEqual(await inquire(), active('FINE'));
    });

    it(`is DOWN when five accounts end in ${reason}, and again when the same five do so later`, async () => {
      const rail = scriptedRail('only', () => noVerdict(reason));
      const { inquire, snapshot, advance } = inquiriesOver([rail]);
      const status = () => bankHealths(snapshot()).get('CENAIDJA')?.status ?? 'UP';
      const five = Array.from({ length: 5 }, () => nextAccount());
      for (let outage = 0; outage < 2; outage += 1) {
        for (const account of five) {
          assert.equal(status(), 'UP');
          await inquire('BCA', account);
        }
        assert.equal(status(), 'DOWN');
        advance(5_000);
        await inquire('BCA', five[0]);
        assert.equal(status(), 'DOWN', 'also when the probe is for one of them');
        advance(10_000);
        rail.script = () => active('BACK');
        await inquire('BCA', five[0]);
        rail.script = () => noVerdict(reason);
      }
    });
  }

  /** Regression: five unanswered inquiries of one client opened the breaker for all others, which the bank answered. */
  it('keeps its breaker closed when inquiries time out together while it answers others', async () => {
    const silent = Promise.withResolvers<InquiryOutcome>();
    const rail = scriptedRail('only', () => silent.promise);
    const { inquire, snapshot, advance } = inquiriesOver([rail]);
    const together = Array.from({ length: 8 }, () => inquire());
    advance(2_000);
    rail.script = () => active('FINE');
    assert.deepEqual(await inquire(), active('FINE'));
    advance(2_000);
    silent.resolve(noVerdict('timeout'));
    await Promise.all(together);
    assert.equal(snapshot()[0]?.banks[0]?.health.state, 'closed');
    assert.deepEqual(await inquire(), active('FINE'));
  });

  /**
   * Regression: a probe for an account that had failed before was ignored, so a dead bank was inquired without pause.
   */
  it('opens its breaker again when every probe is for the same account', async () => {
    const rail = scriptedRail('only', () => noVerdict('bank_unavailable'));
    const { inquire, snapshot, advance } = inquiriesOver([rail]);
    const five = Array.from({ length: 5 }, () => nextAccount());
    for (const account of five) await inquire('BCA', account);
    for (let second = 0; second < 600; second += 1) {
      await inquire('BCA', five[0]);
      assert.equal(bankHealths(snapshot()).get('CENAIDJA')?.status, 'DOWN');
      advance(1_000);
    }
    assert.ok(rail.inquiries.length < 25, `inquired ${rail.inquiries.length} times in ten minutes`);
  });

  /**
   * Regression: eight accounts in turn never counted as more than one rejection, while a bank may lock the operator
   * out.
   */
  it('opens its breaker when it rejects the credentials, for however few accounts', async () => {
    const rail = scriptedRail('only', () => noVerdict('credentials_rejected'));
    const { inquire } = inquiriesOver([rail]);
    const few = Array.from({ length: 8 }, () => nextAccount());
    for (let time = 0; time < 100; time += 1) await inquire('BCA', few[time % few.length]);
    assert.equal(rail.inquiries.length, PROTECTION.breaker.consecutiveRejectionsMax);
  });

  it('opens its breaker for rejected credentials only when they are consecutive', async () => {
    let turn = 0;
    const rail = scriptedRail('only', () =>
      (turn += 1) % 10 === 0 ? active('FINE') : noVerdict('credentials_rejected'),
    );
    const { inquire } = inquiriesOver([rail]);
    for (let time = 0; time < 100; time += 1) await inquire();
    assert.equal(rail.inquiries.length, 100);
    rail.script = () => noVerdict('credentials_rejected');
    for (let time = 0; time < 50; time += 1) await inquire();
    assert.equal(rail.inquiries.length, 110);
  });

  it('keeps its breaker closed when it rejects inquiries, which any client can cause', async () => {
    const rail = scriptedRail('only', () => noVerdict('rejected_by_bank', '4001601'));
    const { inquire, snapshot } = inquiriesOver([rail]);
    for (let time = 0; time < 50; time += 1) await inquire();
    assert.equal(rail.inquiries.length, 50);
    const health = snapshot()[0]?.banks[0]?.health;
    assert.equal(health?.state, 'closed');
    assert.deepEqual(
      health?.recentFailures.map(({ reason, railCode, count }) => [reason, railCode, count]),
      [['rejected_by_bank', '4001601', 50]],
      'the operator sees them',
    );
  });

  /** Regression: an inquiry that the rail did not send counted as an answer of the bank, and closed the breaker. */
  it('keeps its open breaker when the probe is an inquiry that the rail does not send', async () => {
    const rail = scriptedRail('only', () => noVerdict('unreachable'));
    const { inquire, snapshot, advance } = inquiriesOver([rail]);
    for (let time = 0; time < 10; time += 1) await inquire();
    const state = (): string | undefined => snapshot()[0]?.banks[0]?.health.state;
    assert.equal(state(), 'open');
    advance(60_000);
    rail.script = () => noVerdict('not_supported');
    await inquire();
    assert.equal(state(), 'half_open', 'the next inquiry is the probe');
    rail.script = () => active('BACK');
    assert.deepEqual(await inquire(), active('BACK'));
    assert.equal(state(), 'closed');
  });

  /** Regression: each probe that failed began the outage anew, so that "down since" was seconds ago for hours. */
  it('is down since its breaker opened, however many probes fail, and up since it closed', async () => {
    let wallMs = Date.parse('2026-11-29T03:31:43Z');
    const rail = scriptedRail('only', () => noVerdict('unreachable'));
    const { inquire, snapshot, advance } = inquiriesOver([rail], { wallClock: () => wallMs });
    const since = (): unknown => [
      snapshot()[0]?.banks[0]?.health.since,
      bankHealths(snapshot()).get('CENAIDJA')?.since,
    ];
    const openedAt = Array<string>(2).fill('2026-11-29T03:31:43.000Z');
    for (let time = 0; time < 5; time += 1) await inquire();
    for (let probe = 0; probe < 3; probe += 1) {
      assert.deepEqual(since(), openedAt);
      wallMs += 60_000;
      advance(60_000);
      await inquire();
    }
    assert.equal(rail.inquiries.length, 8);
    assert.deepEqual(since(), openedAt);
    wallMs += 60_000;
    advance(60_000);
    rail.script = () => active('BACK');
    await inquire();
    assert.deepEqual(since(), Array<string>(2).fill('2026-11-29T03:35:43.000Z'));
  });

  /** Regression: inquiries that timed out were counted as answers, and the console said that the bank answers. */
  it('has no answers when all inquiries time out', async () => {
    const rail = scriptedRail('only', () => noVerdict('timeout'));
    const { inquire, snapshot } = inquiriesOver([rail]);
    const answers = (): unknown => snapshot()[0]?.banks[0]?.health.answers;
    for (let time = 0; time < 3; time += 1) await inquire();
    assert.equal(answers(), 0);
    rail.script = () => active('FINE');
    await inquire();
    assert.equal(answers(), 1);
  });

  it('is DEGRADED and not DOWN when it throttles, also when no inquiry follows', async () => {
    const rail = scriptedRail('only', () => noVerdict('throttled'));
    const { inquire, snapshot, advance } = inquiriesOver([rail]);
    const status = () => bankHealths(snapshot()).get('CENAIDJA')?.status;
    for (let time = 0; time < PROTECTION.breaker.consecutiveThrottledMax; time += 1) await inquire();
    assert.equal(snapshot()[0]?.banks[0]?.health.state, 'open');
    assert.equal(status(), 'DEGRADED');
    advance(60_000);
    assert.equal(status(), 'DEGRADED');
    rail.script = () => noVerdict('unreachable');
    await inquire();
    assert.equal(status(), 'DOWN', 'the probe failed');
  });

  it('gets no inquiry for an account number that the rail does not support, and no quota is used', async () => {
    const first = scriptedRail('first', () => active('FIRST'), {
      supportsAccountNumber: ({ accountNumber }) => accountNumber.length <= 10,
    });
    const limits = { perSecond: 5, perDay: null, concurrencyMax: null, isShared: false };
    const { inquire, snapshot } = inquiriesOver([first], { limitsByRail: new Map([['first', limits]]) });
    for (let time = 0; time < 50; time += 1) {
      assert.deepEqual(await inquire('BCA', `99${nextAccount()}`), noVerdict('not_supported'));
    }
    assert.equal(first.inquiries.length, 0);
    assert.deepEqual(snapshot()[0]?.quotaLeft.second, 5);
    assert.deepEqual(await inquire(), active('FIRST'));

    const second = scriptedRail('second', () => active('SECOND'));
    assert.deepEqual(await inquiriesOver([first, second]).inquire('BCA', `99${nextAccount()}`), active('SECOND'));
  });

  it('gets a retry for at most one in ten inquiries', async () => {
    let isFailing = false;
    const rail = scriptedRail('only', () => (isFailing ? noVerdict('unreachable') : active('FINE')));
    const { inquire, metrics } = inquiriesOver([rail]);
    for (let time = 0; time < 20; time += 1) await inquire();
    isFailing = true;
    for (let time = 0; time < 2; time += 1) await inquire();
    assert.equal(rail.inquiries.length, 20 + 2 + 2, 'both are retried');
    await inquire();
    assert.equal(rail.inquiries.length, 20 + 2 + 2 + 1, 'the third is not');
    assert.match(await metrics.render(), /tiba_inquiry_retries_total\{rail="only"\} 2/);
  });

  it('that answers the retry gives the verdict', async () => {
    const answers = [noVerdict('timeout', '5041600'), active('SECOND TRY')];
    const rail = scriptedRail('only', () => active('FINE'));
    const { inquire } = inquiriesOver([rail]);
    for (let time = 0; time < 10; time += 1) await inquire();
    rail.script = () => answers.shift() ?? noVerdict('credentials_rejected');
    assert.deepEqual(await inquire(), active('SECOND TRY'));
  });

  it('gets no retry after a rejection, throttling or an invalid response', async () => {
    for (const reason of ['credentials_rejected', 'rejected_by_bank', 'throttled', 'invalid_response'] as const) {
      const rail = scriptedRail('only', () => active('FINE'));
      const { inquire } = inquiriesOver([rail]);
      for (let time = 0; time < 10; time += 1) await inquire();
      rail.script = () => noVerdict(reason);
      await inquire();
      assert.equal(rail.inquiries.length, 11, reason);
    }
  });
});
