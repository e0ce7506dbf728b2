import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { isFinal, observe, STATUSES, type Transaction, type Word } from '../../apps/server/src/domain/transaction.ts';
import { transactionJson } from '../../apps/server/src/domain/transaction-json.ts';

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
};
const succeeded: Transaction = { ...known, status: 'SUCCESS', processedAt: NOW };
const failed: Transaction = { ...known, status: 'FAILED', processedAt: NOW, failureReason: 'account closed' };

const say = (status: Word['status'], rest: Partial<Word> = {}): Word => ({
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
      STATUSES.map((status) => observe(each, say(status), LATER).outcome),
    );
    assert.deepEqual(outcomes, [
      ['unchanged', 'advanced', 'advanced'],
      ['unchanged', 'unchanged', 'conflict'],
      ['unchanged', 'conflict', 'unchanged'],
    ]);
  });

  test('takes its end from the word, and the time from now where the word has none', () => {
    assert.deepEqual(observe(known, say('SUCCESS'), NOW), { outcome: 'advanced', transaction: succeeded });
    assert.deepEqual(observe(known, say('FAILED'), NOW), { outcome: 'advanced', transaction: failed });
    assert.deepEqual(observe(known, say('SUCCESS', { processedAt: LATER }), NOW), {
      outcome: 'advanced',
      transaction: { ...succeeded, processedAt: LATER },
    });
  });

  test('never leaves a final state and changes nothing but the ending, whatever is said', () => {
    fc.assert(
      fc.property(fc.array(words(), { maxLength: 12 }), (said) => {
        const states: Transaction[] = [];
        for (const each of said) {
          const observed = observe(states.at(-1) ?? null, each, NOW);
          if ('transaction' in observed) states.push(observed.transaction);
        }
        assert.ok(states.length <= 2);
        for (const state of states) {
          assert.equal(state.processedAt === null, state.status === 'PROCESS');
          assert.equal(state.failureReason === null, state.status !== 'FAILED');
          const { status, processedAt, failureReason } = state;
          assert.deepEqual(state, { ...states[0], status, processedAt, failureReason });
        }
        if (states.length === 2)
          assert.deepEqual(
            states.map(({ status }) => isFinal(status)),
            [false, true],
          );
      }),
      { numRuns: 500 },
    );
  });
});

suite('a transaction as JSON', () => {
  test('has the fields of the document, all of them, in its order', () => {
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

/** Words about one transaction: whole ones and short ones, agreeing and contradicting. */
function words(): fc.Arbitrary<Word> {
  const { status: _, processedAt: __, failureReason: ___, ...whole } = known;
  const rest = fc.oneof(
    fc.constant(whole),
    fc.constant({}),
    fc.constantFrom<Partial<Word>>(
      { amount: '1.00' },
      { fee: '0.01' },
      { totalAmount: '152500.00' },
      { totalAmount: '1.00' },
    ),
  );
  return fc.tuple(fc.constantFrom(...STATUSES), rest).map(([status, fields]) => say(status, fields));
}
