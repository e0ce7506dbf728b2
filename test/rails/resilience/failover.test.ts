import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AccountInquiriesOptions } from '../../../apps/server/src/rails/account-inquiries.ts';
import type { NoVerdictReason } from '../../../apps/server/src/rails/rail.ts';
import { timeLimitMs } from '../../support/suite-environment.ts';
import { inquiriesOver, nextAccount } from './inquiries-over.ts';
import { active, NOT_FOUND, noVerdict, scriptedRail, silence } from './scripted-rail.ts';

const routeOf = (bic: string, rails: readonly string[] | null): AccountInquiriesOptions => ({
  routes: new Map([[bic, { rails, hedge: false }]]),
});

describe('failover between rails', () => {
  it('the first rail answers, and no other is inquired', async () => {
    const first = scriptedRail('first', () => active('FIRST'));
    const second = scriptedRail('second', () => active('SECOND'));
    assert.deepEqual(await inquiriesOver([first, second]).inquire(), active('FIRST'));
    assert.equal(second.inquiries.length, 0);
  });

  const reasons: readonly NoVerdictReason[] = [
    'timeout',
    'unreachable',
    'bank_unavailable',
    'throttled',
    'credentials_rejected',
    'rejected_by_bank',
    'not_supported',
    'invalid_response',
  ];
  for (const reason of reasons) {
    it(`the next rail is inquired when the first reports ${reason}`, async () => {
      const first = scriptedRail('first', () => noVerdict(reason));
      const second = scriptedRail('second', () => active('SECOND'));
      assert.deepEqual(await inquiriesOver([first, second]).inquire(), active('SECOND'));
      assert.equal(first.inquiries.length, 1);
    });
  }

  it('the outcome names the rail that was inquired last, if any was', async () => {
    const first = scriptedRail('first', () => noVerdict('unreachable'));
    const second = scriptedRail('second', () => active('SECOND'));
    const third = scriptedRail('third', () => NOT_FOUND);
    assert.equal(await inquiriesOver([first, second]).railOf(), 'second');
    assert.equal(await inquiriesOver([third]).railOf(), 'third');
    assert.equal(await inquiriesOver([second, first], routeOf('CENAIDJA', ['first'])).railOf(), 'first');
    assert.equal(await inquiriesOver([scriptedRail('none', silence, { reaches: () => false })]).railOf(), undefined);
  });

  it('the second answers before the deadline when the first is silent', async () => {
    const first = scriptedRail('first', silence);
    const second = scriptedRail('second', () => active('SECOND'));
    const startedMs = performance.now();
    assert.deepEqual(await inquiriesOver([first, second]).inquire(), active('SECOND'));
    assert.ok(performance.now() - startedMs < timeLimitMs(4_000));
    assert.ok(first.inquiries[0]?.signal.aborted, 'the inquiry over the first rail is cancelled');
  });

  it('a verdict is final, also a negative one', async () => {
    const first = scriptedRail('first', () => NOT_FOUND);
    const second = scriptedRail('second', () => active('SECOND'));
    const outcome = await inquiriesOver([first, second]).inquire();
    assert.equal(outcome.kind === 'verdict' ? outcome.verdict.status : null, 'NOT_FOUND');
    assert.equal(second.inquiries.length, 0);
  });

  it("the operator's route for a bank replaces the order of the rails file for that bank only", async () => {
    const first = scriptedRail('first', () => active('FIRST'));
    const second = scriptedRail('second', () => active('SECOND'));
    const { inquire } = inquiriesOver([first, second], routeOf('CENAIDJA', ['second', 'first']));
    assert.deepEqual(await inquire('BCA'), active('SECOND'));
    assert.deepEqual(await inquire('BRI'), active('FIRST'));
  });

  it("a rail that is not in the operator's route is not inquired", async () => {
    const first = scriptedRail('first', () => noVerdict('credentials_rejected'));
    const second = scriptedRail('second', () => active('SECOND'));
    const { inquire } = inquiriesOver([first, second], routeOf('CENAIDJA', ['first']));
    assert.deepEqual(await inquire('BCA'), noVerdict('credentials_rejected'));
  });

  it('a rail that does not reach the bank is not inquired', async () => {
    const first = scriptedRail('first', () => active('FIRST'), { reaches: (bank) => bank.bic === 'BRINIDJA' });
    const second = scriptedRail('second', () => active('SECOND'));
    assert.deepEqual(await inquiriesOver([first, second]).inquire('BCA'), active('SECOND'));
  });

  it('when all rails fail, the outcome is that of the last one', async () => {
    const rails = (['unreachable', 'credentials_rejected'] as const).map((reason) =>
      scriptedRail(reason, () => noVerdict(reason, `code of ${reason}`)),
    );
    assert.deepEqual(
      await inquiriesOver(rails).inquire(),
      noVerdict('credentials_rejected', 'code of credentials_rejected'),
    );
  });

  it('NOT_FOUND is marked as possibly closed, unless the rail distinguishes closed accounts', async () => {
    const cannot = scriptedRail('cannot', () => NOT_FOUND);
    const can = scriptedRail('can', () => NOT_FOUND, { distinguishesClosed: true });
    assert.deepEqual(await inquiriesOver([cannot]).inquire(), { ...NOT_FOUND, mayBeClosed: true });
    assert.deepEqual(await inquiriesOver([can]).inquire(), NOT_FOUND);
  });

  it('an inquiry that was not sent does not keep later ones for the same account from being sent', async () => {
    const rail = scriptedRail('only', () => noVerdict('unreachable'));
    const { inquire, advance } = inquiriesOver([rail]);
    const account = nextAccount();
    for (let time = 0; time < 5; time += 1) await inquire('BCA', account);
    assert.equal((await inquire('BCA', account)).kind, 'no_verdict');
    const sentBefore = rail.inquiries.length;
    advance(5_000);
    rail.script = () => active('BACK');
    assert.deepEqual(await inquire('BCA', account), active('BACK'));
    assert.equal(rail.inquiries.length, sentBefore + 1);
  });
});
