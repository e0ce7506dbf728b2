import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { InquiryOutcome } from '../../../apps/server/src/rails/rail.ts';
import { inquiriesOver, nextAccount } from './inquiries-over.ts';
import { active, noVerdict, scriptedRail, silence } from './scripted-rail.ts';

/** The clock of `inquiriesOver` when it begins. */
const NOW_MS = 1_000;
const TIMEOUT = noVerdict('timeout');

/** Regression: a bank had 4 s, whatever its client's request had waited for, so an answer could take more than 5 s. */
describe('the time that a request has left for its bank', () => {
  for (const [leftMs, bankMs] of [
    [2_900, 2_900],
    [10_000, 4_000],
  ] as const) {
    it(`of ${leftMs} ms gives the bank ${bankMs} ms`, async (t) => {
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const rail = scriptedRail('silent', silence);
      const { inquireUntil, advance } = inquiriesOver([rail]);
      const outcome = inquireUntil(NOW_MS + leftMs);
      t.mock.timers.tick(bankMs - 1);
      assert.equal(rail.inquiries[0]?.signal.aborted, false);
      advance(bankMs);
      t.mock.timers.tick(1);
      assert.equal(rail.inquiries[0]?.signal.aborted, true);
      assert.deepEqual(await outcome, TIMEOUT);
      assert.equal(rail.inquiries.length, 1);
    });
  }

  it('is shared by the rails of the bank', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const first = scriptedRail('first', silence);
    const second = scriptedRail('second', () => active('SECOND'));
    const { inquireUntil, advance } = inquiriesOver([first, second]);
    const outcome = inquireUntil(NOW_MS + 2_000);
    advance(1_000);
    t.mock.timers.tick(1_000);
    assert.equal(first.inquiries[0]?.signal.aborted, true);
    assert.deepEqual(await outcome, active('SECOND'));
  });

  it('is a timeout where there is none, and a later inquiry about the account is sent', async () => {
    const rail = scriptedRail('only', () => active('BUDI'));
    const { inquire, inquireUntil } = inquiriesOver([rail]);
    const account = nextAccount();
    assert.deepEqual(await inquireUntil(NOW_MS + 100, account), TIMEOUT);
    assert.deepEqual(await inquireUntil(NOW_MS - 100, account), TIMEOUT);
    assert.equal(rail.inquiries.length, 0);
    assert.deepEqual(await inquire('BCA', account), active('BUDI'));
  });

  it('ends the wait for an inquiry that another request began', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const rail = scriptedRail('silent', silence);
    const { inquire, inquireUntil, advance } = inquiriesOver([rail]);
    const account = nextAccount();
    const began = inquire('BCA', account);
    let joined: InquiryOutcome | undefined;
    void inquireUntil(NOW_MS + 1_000, account).then((outcome) => (joined = outcome));
    advance(1_000);
    t.mock.timers.tick(1_000);
    await nextTurn();
    assert.deepEqual(joined, TIMEOUT);
    assert.equal(rail.inquiries[0]?.signal.aborted, false, 'the other request still waits');
    advance(3_000);
    t.mock.timers.tick(3_000);
    assert.deepEqual(await began, TIMEOUT);
    assert.equal(rail.inquiries.length, 1);
  });
});
