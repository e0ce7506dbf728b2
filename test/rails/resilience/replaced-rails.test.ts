import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMetrics } from '../../../apps/server/src/observability/metrics.ts';
import { createAccountInquiries } from '../../../apps/server/src/rails/account-inquiries.ts';
import type { InquiryOutcome, Rail } from '../../../apps/server/src/rails/rail.ts';
import { createQuota } from '../../../apps/server/src/rails/resilience/quota.ts';
import { type BankLimits, NO_BANK_LIMITS } from '../../../apps/server/src/rails/resilience/settings.ts';
import { inquiryOf } from '../connection.ts';
import { nextAccount } from './inquiries-over.ts';
import { active, noVerdict, type ScriptedRail, scriptedRail, silence } from './scripted-rail.ts';

const ACTIVE = active('BUDI SANTOSO');
const limited = (limits: Partial<BankLimits>) => ({
  limitsByRail: new Map([['bca', { ...NO_BANK_LIMITS, ...limits }]]),
});

function inquiriesWith(rails: readonly Rail[], limits: Partial<BankLimits> = {}) {
  let nowMs = 1_000;
  const metrics = createMetrics();
  const inquiries = createAccountInquiries(rails, metrics, { clock: () => nowMs, random: () => 0, ...limited(limits) });
  return {
    metrics,
    inquiries,
    advance: (ms: number) => (nowMs += ms),
    inquire: (account = nextAccount()): Promise<InquiryOutcome> => inquiries.inquire(inquiryOf('BCA', account)),
    async reasons(times: number): Promise<string[]> {
      const outcomes: string[] = [];
      for (let time = 0; time < times; time += 1) {
        const outcome = await inquiries.inquire(inquiryOf('BCA', nextAccount()));
        outcomes.push(outcome.kind === 'verdict' ? 'verdict' : outcome.reason);
      }
      return outcomes;
    },
  };
}

const bcaAnswering = (): ScriptedRail => scriptedRail('bca', () => ACTIVE);

describe('rails that are replaced while the service runs', () => {
  it('an inquiry in flight ends over the rail on which it began; the next one uses the new rail', async () => {
    const reply = Promise.withResolvers<InquiryOutcome>();
    const former = scriptedRail('former', () => reply.promise);
    const next = scriptedRail('next', () => ACTIVE);
    const { inquiries, inquire } = inquiriesWith([former]);
    const inFlight = inquire();
    inquiries.replaceRails([next], {});
    assert.equal((await inquire()).rail, 'next');
    reply.resolve(ACTIVE);
    assert.equal((await inFlight).rail, 'former');
    assert.deepEqual(
      inquiries.snapshot().map(({ name, inFlight }) => ({ name, inFlight })),
      [{ name: 'next', inFlight: 0 }],
    );
  });

  it("a second's quota is not granted again to a rail of the same name, higher or lower", async () => {
    const { inquiries, reasons, advance } = inquiriesWith([bcaAnswering()], { perSecond: 4 });
    assert.deepEqual(await reasons(3), ['verdict', 'verdict', 'verdict']);
    inquiries.replaceRails([bcaAnswering()], limited({ perSecond: 5 }));
    assert.deepEqual(await reasons(3), ['verdict', 'verdict', 'quota_exhausted']);
    inquiries.replaceRails([bcaAnswering()], limited({ perSecond: 2 }));
    assert.deepEqual(await reasons(1), ['quota_exhausted']);
    advance(1_000);
    assert.deepEqual(await reasons(3), ['verdict', 'verdict', 'quota_exhausted']);
  });

  it('inquiries in flight over the former rail count against the concurrency of the new one', async () => {
    const hanging = scriptedRail('bca', silence);
    const { inquiries, inquire, reasons } = inquiriesWith([hanging], { concurrencyMax: 2, isShared: false });
    const held = [inquire(), inquire()];
    inquiries.replaceRails([bcaAnswering()], limited({ concurrencyMax: 3, isShared: false }));
    assert.equal(inquiries.snapshot()[0]?.concurrencyMax, 3);
    assert.deepEqual(await reasons(1), ['verdict']);
    inquiries.replaceRails([bcaAnswering()], limited({ concurrencyMax: 2, isShared: false }));
    assert.deepEqual(await reasons(1), ['bulkhead_full']);
    assert.equal(hanging.inquiries.length, 2);
    for (const { signal } of hanging.inquiries) signal.dispatchEvent(new Event('abort'));
    await Promise.all(held);
    assert.deepEqual(await reasons(2), ['verdict', 'verdict']);
  });

  it('a rail that stays keeps its open circuit breaker; a changed one of the same name begins closed', async () => {
    const failing = scriptedRail('bca', () => noVerdict('unreachable'));
    const { inquiries, reasons, metrics } = inquiriesWith([failing]);
    const untilOpen = await reasons(20);
    assert.equal(untilOpen.at(-1), 'circuit_open');
    inquiries.replaceRails([failing], {});
    assert.deepEqual(await reasons(1), ['circuit_open']);
    assert.match(await metrics.render(), /^tiba_breaker_state\{rail="bca",bank="CENAIDJA"\} 2$/m);
    inquiries.replaceRails([bcaAnswering()], {});
    assert.doesNotMatch(await metrics.render(), /^tiba_breaker_state\{/m);
    assert.deepEqual(await reasons(1), ['verdict']);
  });

  it('what ends over a former rail says nothing about the state of the new one', async () => {
    const replies: PromiseWithResolvers<InquiryOutcome>[] = [];
    const former = scriptedRail('bca', () => {
      const reply = Promise.withResolvers<InquiryOutcome>();
      replies.push(reply);
      return reply.promise;
    });
    const { inquiries, inquire, metrics, reasons } = inquiriesWith([former]);
    const inFlight = Array.from({ length: 10 }, () => inquire());
    inquiries.replaceRails([bcaAnswering()], {});
    for (const reply of replies) reply.resolve(noVerdict('credentials_rejected'));
    await Promise.all(inFlight);
    assert.doesNotMatch(await metrics.render(), /^tiba_breaker_state\{/m);
    assert.deepEqual(await reasons(1), ['verdict']);
  });

  it('routes change with the rails', async () => {
    const one = scriptedRail('one', () => ACTIVE);
    const other = scriptedRail('other', () => ACTIVE);
    const { inquiries, inquire } = inquiriesWith([one, other]);
    assert.equal((await inquire()).rail, 'one');
    inquiries.replaceRails([one, other], { routes: new Map([['CENAIDJA', { rails: ['other'], hedge: false }]]) });
    assert.equal((await inquire()).rail, 'other');
    const { bank } = inquiryOf('BCA', nextAccount());
    inquiries.replaceRails([], {});
    assert.equal(inquiries.canReach(bank), false);
  });
});

describe('a quota that takes the place of another', () => {
  it('is exact over any second from the times of the former one', () => {
    const former = createQuota({ perSecond: 3, perDay: null }, () => 0);
    for (const at of [100, 400, 700]) former.take(at);
    assert.deepEqual(former.sentMs(), [100, 400, 700]);
    const lower = createQuota({ perSecond: 2, perDay: null }, () => 0, undefined, former.sentMs());
    assert.equal(lower.waitMs(800), 600, 'until the inquiry at 400 is a second old');
    const higher = createQuota({ perSecond: 5, perDay: null }, () => 0, undefined, former.sentMs());
    assert.deepEqual(higher.left(800), { second: 2, day: null });
    const unlimited = createQuota({ perSecond: null, perDay: null }, () => 0, undefined, former.sentMs());
    assert.equal(unlimited.waitMs(800), 0);
  });
});
