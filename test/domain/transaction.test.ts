import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { applyUpdate, markOverdue } from '../../apps/server/src/domain/apply-update.ts';
import {
  isFinal,
  STATUSES,
  type StatusUpdate,
  type Transaction,
  transactionJson,
} from '../../apps/server/src/domain/transaction.ts';

const NOW = '2026-11-21T06:00:00.000Z';
const LATER = '2026-11-21T07:00:00.000Z';

const known: Transaction = {
  clientId: 'alpha',
  transactionId: 'TB0000000001',
  referenceId: 'INV/2026/001',
  status: 'PROCESS',
  amount: '150000.00',
  fee: '2500.00',
  currency: 'IDR',
  bankCode: '014',
  bankName: 'Bank Central Asia',
  accountNumber: '1234567890',
  accountName: 'BUDI SANTOSO',
  description: 'Refund',
  createdAt: '2026-11-21T04:32:26.123Z',
  processedAt: null,
  failureReason: null,
  version: 1,
  rail: null,
  railReference: null,
  reversedAt: null,
  sourceAccountNumber: null,
  serviceCode: null,
  externalId: null,
  bankReference: null,
  expectedBy: '2026-11-21T05:02:26.123Z',
  overdueSince: null,
};
const succeeded: Transaction = { ...known, status: 'SUCCESS', processedAt: NOW, expectedBy: null, version: 2 };
const failed: Transaction = {
  ...known,
  status: 'FAILED',
  processedAt: NOW,
  failureReason: 'account closed',
  expectedBy: null,
  version: 2,
};

const at = (now: string) => ({ now, versionFloor: 0, expectedMs: () => 30 * 60_000 });

const updateTo = (status: StatusUpdate['status'], rest: Partial<StatusUpdate> = {}): StatusUpdate => ({
  clientId: 'alpha',
  transactionId: 'TB0000000001',
  status,
  ...(status === 'FAILED' ? { failureReason: 'account closed' } : {}),
  ...rest,
});

suite('the status of a transaction', () => {
  test('is final when it is SUCCESS or FAILED', () => {
    assert.deepEqual(STATUSES.map(isFinal), [false, true, true]);
  });

  test('moves from PROCESS to SUCCESS or FAILED, and nowhere else', () => {
    const outcomes = [known, succeeded, failed].map((each) =>
      STATUSES.map((status) => applyUpdate(each, updateTo(status), at(LATER)).outcome),
    );
    assert.deepEqual(outcomes, [
      ['unchanged', 'advanced', 'advanced'],
      ['unchanged', 'unchanged', 'conflict'],
      ['unchanged', 'conflict', 'unchanged'],
    ]);
  });

  test('takes its final fields from the update, and the current time if the update has none', () => {
    assert.deepEqual(applyUpdate(known, updateTo('SUCCESS'), at(NOW)), {
      outcome: 'advanced',
      transaction: succeeded,
      events: ['disbursement.succeeded'],
    });
    assert.deepEqual(applyUpdate(known, updateTo('FAILED'), at(NOW)), {
      outcome: 'advanced',
      transaction: failed,
      events: ['disbursement.failed'],
    });
    assert.deepEqual(applyUpdate(known, updateTo('SUCCESS', { processedAt: LATER }), at(NOW)), {
      outcome: 'advanced',
      transaction: { ...succeeded, processedAt: LATER },
      events: ['disbursement.succeeded'],
    });
  });

  test('begins when its core says, and when the update arrives if that is more than 12 hours earlier', () => {
    const { status: _, ...first } = known;
    const createdAtOf = (createdAt: string): unknown => {
      const result = applyUpdate(null, { ...first, status: 'PROCESS', createdAt }, at(NOW));
      assert.ok(result.outcome === 'inserted');
      return [result.transaction.createdAt, result.difference !== undefined];
    };
    const [last, later] = [0, 1].map((ms) => new Date(Date.parse(NOW) + 12 * 3_600_000 + ms).toISOString());
    assert.deepEqual(createdAtOf(last ?? ''), [last, false]);
    assert.deepEqual(createdAtOf(later ?? ''), [NOW, true]);
  });

  test('never leaves a final status; only final fields and rail change, and each event raises the version', () => {
    fc.assert(
      fc.property(fc.array(anyUpdate(), { maxLength: 12 }), (updates) => {
        let state = null as Transaction | null;
        let eventCount = 0;
        for (const each of updates) {
          const before: Transaction | null = state;
          const result = applyUpdate(before, each, at(NOW));
          if (!('transaction' in result) || result.transaction === undefined) continue;
          state = result.transaction;
          eventCount += 'events' in result ? result.events.length : 0;
          if (before !== null && isFinal(before.status)) assert.equal(state.status, before.status);
          assert.equal(state.processedAt === null, state.status === 'PROCESS');
          assert.equal(state.failureReason === null, state.status !== 'FAILED');
          assert.equal(state.expectedBy === null, isFinal(state.status));
          if (before !== null) {
            const { status, processedAt, failureReason, expectedBy, version, reversedAt, rail, railReference } = state;
            assert.deepEqual(state, {
              ...before,
              status,
              processedAt,
              failureReason,
              expectedBy,
              version,
              reversedAt,
              rail,
              railReference,
            });
            assert.equal(version - before.version, 'events' in result ? result.events.length : 0);
          }
        }
        // A first update with PROCESS causes no event, and the next event raises the version to 2.
        if (state !== null) assert.ok(state.version === eventCount || state.version === eventCount + 1);
      }),
      { numRuns: 500 },
    );
  });

  test('stays SUCCESS when the bank returns the money: a reversal causes one event', () => {
    const reversal = updateTo('SUCCESS', { reversedAt: LATER });
    const reversed: Transaction = { ...succeeded, reversedAt: LATER, version: 3 };
    assert.deepEqual(applyUpdate(succeeded, reversal, at(NOW)), {
      outcome: 'reversed',
      transaction: reversed,
      events: ['disbursement.reversed'],
    });
    assert.deepEqual(applyUpdate(reversed, reversal, at(NOW)), { outcome: 'unchanged' });
    assert.equal(applyUpdate(reversed, updateTo('SUCCESS', { reversedAt: NOW }), at(NOW)).outcome, 'conflict');
    const both = applyUpdate(known, reversal, at(NOW));
    assert.ok(both.outcome === 'advanced');
    assert.deepEqual(both.events, ['disbursement.succeeded', 'disbursement.reversed']);
    assert.equal(both.transaction.version, 3);
  });

  test('stays SUCCESS when a bank answers that it failed and was refunded: that is the reversal, once', () => {
    const refunded = updateTo('FAILED', { refundedAt: LATER, failureReason: 'REFUNDED' });
    const reversed: Transaction = { ...succeeded, reversedAt: LATER, version: 3 };
    assert.deepEqual(applyUpdate(succeeded, refunded, at(NOW)), {
      outcome: 'reversed',
      transaction: reversed,
      events: ['disbursement.reversed'],
    });
    assert.deepEqual(applyUpdate({ ...reversed, reversedAt: NOW }, refunded, at(NOW)), { outcome: 'unchanged' });
    const ended = applyUpdate(known, refunded, at(NOW));
    assert.ok(ended.outcome === 'advanced');
    assert.deepEqual(ended.transaction, { ...failed, failureReason: 'REFUNDED' });
    assert.deepEqual(applyUpdate(failed, refunded, at(NOW)), { outcome: 'unchanged' });
  });

  test('keeps the final fields of the first final update: another time or reason is no conflict', () => {
    assert.deepEqual(applyUpdate(succeeded, updateTo('SUCCESS', { processedAt: LATER }), at(NOW)), {
      outcome: 'unchanged',
    });
    assert.deepEqual(applyUpdate(failed, updateTo('FAILED', { processedAt: LATER, failureReason: 'other' }), at(NOW)), {
      outcome: 'unchanged',
    });
  });

  test('takes its rail from a later update without an event, and a different rail is a conflict', () => {
    const carried = applyUpdate(known, updateTo('PROCESS', { rail: 'bca', railReference: 'R1' }), at(NOW));
    assert.deepEqual(carried, { outcome: 'unchanged', transaction: { ...known, rail: 'bca', railReference: 'R1' } });
    const onRail: Transaction = { ...known, rail: 'bca', railReference: 'R1' };
    assert.equal(
      applyUpdate(onRail, updateTo('PROCESS', { rail: 'bca', railReference: 'R2' }), at(NOW)).outcome,
      'conflict',
    );
    assert.equal(applyUpdate(onRail, updateTo('SUCCESS'), at(NOW)).outcome, 'advanced');
  });

  test('is marked overdue once, when its bank has taken longer than expected, and never when it is final', () => {
    const late = markOverdue(known, at(NOW));
    assert.ok(late.outcome === 'overdue');
    assert.deepEqual(late.transaction, { ...known, overdueSince: NOW, version: 2 });
    assert.equal(markOverdue(late.transaction, at(LATER)).outcome, 'unchanged');
    assert.equal(markOverdue(succeeded, at(LATER)).outcome, 'unchanged');
    assert.equal(markOverdue(known, at('2026-11-21T05:02:26.122Z')).outcome, 'unchanged');
    assert.equal(markOverdue(known, at('2026-11-21T05:02:26.123Z')).outcome, 'overdue');
  });
});

suite('a transaction as JSON', () => {
  test('has all fields of docs/contract.md 2.2, in that order', () => {
    assert.deepEqual(Object.keys(JSON.parse(transactionJson(known))), [
      'transaction_id',
      'reference_id',
      'status',
      'amount',
      'fee',
      'total_amount',
      'bank_code',
      'bank_name',
      'account_number',
      'account_name',
      'description',
      'created_at',
      'processed_at',
      'failure_reason',
    ]);
  });

  test('prints amounts as numbers with two decimals, exactly', () => {
    const json = transactionJson({ ...known, amount: '9007199254740993.01', fee: '0.10' });
    assert.match(json, /"amount":9007199254740993\.01,"fee":0\.10,"total_amount":9007199254740993\.11,/);
  });

  test('carries any text unchanged', () => {
    const text = fc.string({ unit: 'binary', maxLength: 30 });
    fc.assert(
      fc.property(text, text, (reference, name) => {
        const { reference_id, account_name } = JSON.parse(
          transactionJson({ ...known, referenceId: reference, accountName: name }),
        ) as Record<string, string>;
        assert.deepEqual([reference_id, account_name], [reference, name]);
      }),
      { numRuns: 30 },
    );
  });
});

/** Updates of one transaction: complete and partial ones, consistent and contradicting. */
function anyUpdate(): fc.Arbitrary<StatusUpdate> {
  const { status: _, processedAt: __, failureReason: ___, ...complete } = known;
  const rest = fc.oneof(
    fc.constant(complete),
    fc.constant({}),
    fc.constantFrom<Partial<StatusUpdate>>(
      { amount: '1.00' },
      { fee: '0.01' },
      { totalAmount: '152500.00' },
      { totalAmount: '1.00' },
    ),
  );
  return fc.tuple(fc.constantFrom(...STATUSES), rest).map(([status, fields]) => updateTo(status, fields));
}
