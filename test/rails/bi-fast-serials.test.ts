import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSerials } from '../../apps/server/src/rails/bi-fast/message.ts';
import type { InquiryOutcome } from '../../apps/server/src/rails/rail.ts';
import { activeReport, fieldsOf, startScriptedHub } from './bi-fast-hub.ts';
import { inquireAccount } from './connection.ts';

const ACCOUNT = '666111222';

const labelOf = (outcome: InquiryOutcome): string =>
  outcome.kind === 'verdict' ? outcome.verdict.status : outcome.reason;

describe('serials', () => {
  it('have eight digits, and none is repeated before all were used', () => {
    const serials = createSerials(() => 99_999_997);
    assert.deepEqual([serials.next(), serials.next(), serials.next()], ['99999998', '99999999', '00000000']);
  });

  it('start at another number in each process, and after a restart', () => {
    const starts = Array.from({ length: 50 }, () => createSerials().next());
    assert.ok(new Set(starts).size > 45);
    const serials = createSerials();
    const before = Number(serials.next());
    serials.restart();
    assert.notEqual(Number(serials.next()), before + 1);
  });

  it('that another process has used are replaced, and the request is sent once more', async (context) => {
    let count = 0;
    const hub = await startScriptedHub(context, (request) => {
      count += 1;
      return { body: activeReport(request, count === 1 ? { TxSts: 'RJCT', reason: 'U149' } : {}) };
    });
    assert.equal(labelOf(await inquireAccount(hub.rail(), 'BRI', ACCOUNT)), 'ACTIVE');
    const [first, second, ...others] = hub.requests.map((request) => fieldsOf(request).endToEndId);
    // The following numbers may have been used as well.
    const serialOf = (endToEndId = ''): number => Number(endToEndId.slice(-8));
    assert.ok(Math.abs(serialOf(second) - serialOf(first)) > 1);
    assert.deepEqual(others, []);
  });

  it('are replaced only once', async (context) => {
    const hub = await startScriptedHub(context, (request) => ({
      body: activeReport(request, { TxSts: 'RJCT', reason: 'U149' }),
    }));
    assert.equal(labelOf(await inquireAccount(hub.rail(), 'BRI', ACCOUNT)), 'credentials_rejected');
    assert.equal(hub.requests.length, 2);
  });
});
