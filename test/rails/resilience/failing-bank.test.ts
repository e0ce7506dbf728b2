import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bankHealths } from '../../../apps/server/src/rails/bank-status.ts';
import type { InquiryOutcome } from '../../../apps/server/src/rails/rail.ts';
import { PROTECTION } from '../../../apps/server/src/rails/resilience/settings.ts';
import { inquiriesOver, nextAccount } from './inquiries-over.ts';
import { active, noVerdict, scriptedRail } from './scripted-rail.ts';

describe('a bank that fails', () => {
  it('is not asked any more, and it is said when it will be', async () => {
    const rail = scriptedRail('only', () => noVerdict('unreachable'));
    const { inquire, advance } = inquiriesOver([rail]);
    for (let time = 0; time < 5; time += 1) await inquire();
    advance(1_200);
    assert.deepEqual(await inquire(), { ...noVerdict('circuit_open'), retryAfterMs: 3_800 });
    assert.equal(rail.inquiries.length, 5);
  });

  it('is passed by: the next rail answers at once', async () => {
    const first = scriptedRail('first', () => noVerdict('invalid_response'));
    const second = scriptedRail('second', () => active('SECOND'));
    const { inquire } = inquiriesOver([first, second]);
    for (let time = 0; time < 50; time += 1) assert.deepEqual(await inquire(), active('SECOND'));
    assert.equal(first.inquiries.length, 5);
    assert.equal(second.inquiries.length, 50);
  });

  it('costs other banks on the same rail nothing', async () => {
    const rail = scriptedRail('switch', ({ bank }) =>
      bank.bic === 'CENAIDJA' ? noVerdict('bank_unavailable') : active('ALIVE'),
    );
    const { inquire } = inquiriesOver([rail]);
    for (let time = 0; time < 10; time += 1) await inquire('BCA');
    assert.deepEqual(await inquire('BRI'), active('ALIVE'));
    assert.equal((await inquire('BCA')).kind, 'no_verdict');
  });

  it('is asked one question after its rest, and all of them once that has an answer', async () => {
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

  it('is not given up for one account that it stumbles over', async () => {
    const rail = scriptedRail('only', () => noVerdict('invalid_response'));
    const { inquire } = inquiriesOver([rail]);
    const account = nextAccount();
    for (let time = 0; time < 20; time += 1) await inquire('BCA', account);
    assert.equal(rail.inquiries.length, 20);
  });

  for (const reason of ['bank_unavailable', 'timeout', 'invalid_response'] as const) {
    it(`is not given up for a few accounts of which it says ${reason}, in whatever order, nor said to be down`, async () => {
      const rail = scriptedRail('only', () => noVerdict(reason));
      const { inquire, snapshot } = inquiriesOver([rail]);
      const poisoned = Array.from({ length: 4 }, () => nextAccount());
      for (let time = 0; time < 40; time += 1) await inquire('BCA', poisoned[0]);
      for (let time = 0; time < 40; time += 1) await inquire('BCA', poisoned[time % 4]);
      assert.ok(rail.inquiries.length >= 80);
      assert.equal(bankHealths(snapshot()).get('CENAIDJA')?.status, 'UP');
      rail.script = () => active('FINE');
      assert.deepEqual(await inquire(), active('FINE'));
    });

    it(`is given up when it says ${reason} of five accounts, and of the same five the next time`, async () => {
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
        assert.equal(status(), 'DOWN', 'also when one of them is the first to be asked about again');
        advance(10_000);
        rail.script = () => active('BACK');
        await inquire('BCA', five[0]);
        rail.script = () => noVerdict(reason);
      }
    });
  }

  /** Regression: five questions of one client that a bank left unanswered took it away from all others, whom it answered. */
  it('is not given up for questions that end together while it answers others', async () => {
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

  /** Regression: the probe of an account that had failed before counted for nothing, and a dead bank was asked without pause. */
  it('is given its rest also when one account is asked about again and again', async () => {
    const rail = scriptedRail('only', () => noVerdict('bank_unavailable'));
    const { inquire, snapshot, advance } = inquiriesOver([rail]);
    const five = Array.from({ length: 5 }, () => nextAccount());
    for (const account of five) await inquire('BCA', account);
    for (let second = 0; second < 600; second += 1) {
      await inquire('BCA', five[0]);
      assert.equal(bankHealths(snapshot()).get('CENAIDJA')?.status, 'DOWN');
      advance(1_000);
    }
    assert.ok(rail.inquiries.length < 25, `asked ${rail.inquiries.length} times in ten minutes`);
  });

  /** Regression: eight accounts in turn never counted as more than one refusal, while a bank may lock the operator out. */
  it('is given up when it refuses the operator, however few accounts it is asked about', async () => {
    const rail = scriptedRail('only', () => noVerdict('credentials_rejected'));
    const { inquire } = inquiriesOver([rail]);
    const few = Array.from({ length: 8 }, () => nextAccount());
    for (let time = 0; time < 100; time += 1) await inquire('BCA', few[time % few.length]);
    assert.equal(rail.inquiries.length, PROTECTION.breaker.consecutiveRejectionsMax);
  });

  it('is not given up for refusing now and then, but for doing so all the time', async () => {
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

  it('is not given up for questions that it finds fault with: any client can put such ones', async () => {
    const rail = scriptedRail('only', () => noVerdict('rejected_by_bank', '4001601'));
    const { inquire, snapshot } = inquiriesOver([rail]);
    for (let time = 0; time < 50; time += 1) await inquire();
    assert.equal(rail.inquiries.length, 50);
    const health = snapshot()[0]?.banks[0]?.health;
    assert.equal(health?.state, 'closed');
    assert.deepEqual(
      health?.recentFailures.map(({ reason, railCode, count }) => [reason, railCode, count]),
      [['rejected_by_bank', '4001601', 50]],
      'and the operator sees them',
    );
  });

  it('is not down for wanting fewer questions, also when none is put to it after that', async () => {
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
    assert.equal(status(), 'DOWN', 'the trial failed');
  });

  it('is not held to account for numbers that it has no room for: they are not put to it, and take no quota', async () => {
    const first = scriptedRail('first', () => active('FIRST'), {
      supportsAccountNumber: ({ accountNumber }) => accountNumber.length <= 10,
    });
    const contract = { perSecond: 5, perDay: null, concurrencyMax: null, isShared: false };
    const { inquire, snapshot } = inquiriesOver([first], { contracts: new Map([['first', contract]]) });
    for (let time = 0; time < 50; time += 1) {
      assert.deepEqual(await inquire('BCA', `99${nextAccount()}`), noVerdict('rejected_by_bank'));
    }
    assert.equal(first.inquiries.length, 0);
    assert.deepEqual(snapshot()[0]?.quotaLeft.second, 5);
    assert.deepEqual(await inquire(), active('FIRST'));

    const second = scriptedRail('second', () => active('SECOND'));
    assert.deepEqual(await inquiriesOver([first, second]).inquire('BCA', `99${nextAccount()}`), active('SECOND'));
  });

  it('is asked again one moment later, for one in ten questions and no more', async () => {
    let isFailing = false;
    const rail = scriptedRail('only', () => (isFailing ? noVerdict('unreachable') : active('FINE')));
    const { inquire, metrics } = inquiriesOver([rail]);
    for (let time = 0; time < 20; time += 1) await inquire();
    isFailing = true;
    for (let time = 0; time < 2; time += 1) await inquire();
    assert.equal(rail.inquiries.length, 20 + 2 + 2, 'both are repeated');
    await inquire();
    assert.equal(rail.inquiries.length, 20 + 2 + 2 + 1, 'the third is not');
    assert.match(await metrics.render(), /tiba_inquiry_retries_total\{rail="only"\} 2/);
  });

  it('whose second answer is a verdict, is believed', async () => {
    const answers = [noVerdict('timeout', '5041600'), active('SECOND TRY')];
    const rail = scriptedRail('only', () => active('FINE'));
    const { inquire } = inquiriesOver([rail]);
    for (let time = 0; time < 10; time += 1) await inquire();
    rail.script = () => answers.shift() ?? noVerdict('credentials_rejected');
    assert.deepEqual(await inquire(), active('SECOND TRY'));
  });

  it('is not asked again about what it refused, throttled or said unintelligibly', async () => {
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
