import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { createIds, only, outcomesOf, reportOf, statusOf, statusUpdatesOf } from './harness.ts';

let service: TestService;
const newId = createIds('TC');

before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

const feed = async (...updates: Record<string, unknown>[]) => reportOf(await service.feed(updates));

const FAILED = { status: 'FAILED', failure_reason: 'ACCOUNT_INACTIVE', processed_at: '2026-11-21T04:40:00.000Z' };
const SUCCESS = { status: 'SUCCESS', processed_at: '2026-11-21T04:40:00.000Z' };

/** The stored status, the next update, and why it is a conflict. */
const CONTRADICTIONS: readonly (readonly [Record<string, unknown>, Record<string, unknown>, string])[] = [
  [SUCCESS, FAILED, 'status FAILED after SUCCESS: a final status never changes'],
  [FAILED, SUCCESS, 'status SUCCESS after FAILED: a final status never changes'],
  ...Object.entries({
    reference_id: 'another reference',
    amount: '150000.01',
    fee: '2500.01',
    currency: 'USD',
    bank_code: 'CENAIDJA',
    account_number: '1234567891',
    account_name: 'BUDI SANTOSA',
  }).flatMap(([field, value]) =>
    // An update with a final status changes nothing either if it contradicts.
    [{ status: 'PROCESS' }, SUCCESS].map(
      (status) => [{}, { ...status, [field]: value }, `${field} differs from the first status update`] as const,
    ),
  ),
  [{}, { ...SUCCESS, total_amount: '150000.00' }, 'total_amount differs from amount + fee of the first status update'],
];

suite(
  'an update that contradicts the stored transaction is a conflict: reported by its line, recorded, never applied',
  () => {
    for (const [known, changes, reason] of CONTRADICTIONS) {
      const before = JSON.stringify(known['status'] ?? 'PROCESS');
      test(`${JSON.stringify(changes)} after ${before}`, async () => {
        const id = newId();
        assert.deepEqual(
          await feed(statusUpdate({ transaction_id: id, reference_id: id, ...known })),
          only({ inserted: 1 }),
        );
        const before = await statusOf(service, id);

        const contradiction = { client_id: 'alpha', transaction_id: id, ...changes };
        assert.deepEqual(await feed(contradiction), only({ conflicts: [{ line: 1, transaction_id: id, reason }] }));

        assert.equal(await statusOf(service, id), before);
        const [, record] = await statusUpdatesOf(service, id);
        assert.deepEqual(
          { ...record, raw: JSON.parse(record?.raw ?? '{}') },
          {
            source: 'core',
            raw: contradiction,
            outcome: 'conflict',
            reason,
          },
        );
      });
    }

    // Regression: it was taken for the first message of its transaction, and its answer for a rejection.
    test('a whole first message again, with another total', async () => {
      const id = newId();
      const first = statusUpdate({ transaction_id: id, reference_id: id });
      await feed(first);
      const reason = 'total_amount differs from amount + fee of the first status update';
      const other = { ...first, total_amount: '1.00' };
      assert.deepEqual(await feed(other), only({ conflicts: [{ line: 1, transaction_id: id, reason }] }));
      assert.deepEqual(await outcomesOf(service, id), ['inserted', 'conflict']);
    });

    test('a transaction accepts further updates after a conflict', async () => {
      const id = newId();
      await feed(statusUpdate({ transaction_id: id, reference_id: id }));
      await feed({ client_id: 'alpha', transaction_id: id, status: 'SUCCESS', amount: '1.00' });
      const final = { client_id: 'alpha', transaction_id: id, ...SUCCESS };
      assert.deepEqual(await feed(final), only({ advanced: 1 }));
      assert.deepEqual(await outcomesOf(service, id), ['inserted', 'conflict', 'advanced']);
    });
  },
);

/** Regression: each was a conflict, so the payout of a core that rounds a time in one of two messages never ended. */
test('another bank name, description or creation time is reported, and never holds up the final status', async () => {
  const id = newId();
  await feed(statusUpdate({ transaction_id: id, reference_id: id }));
  const other = { bank_name: 'Another Bank', description: 'refund', created_at: '2026-11-21T04:32:26Z' };
  const final = { client_id: 'alpha', transaction_id: id, ...SUCCESS, ...other };
  const reason =
    'bank_name, description, created_at: another value than in an earlier status update; the first value stays';
  const differences = [{ line: 1, transaction_id: id, reason }];
  assert.deepEqual(await feed(final), only({ advanced: 1, differences }));
  const answer = await statusOf(service, id);
  assert.match(answer, /"status":"SUCCESS"/);
  assert.match(answer, /"created_at":"2026-11-21T04:32:26.123Z"/);
  assert.match(answer, /"description":"Refund"/);
  assert.ok(!answer.includes('Another Bank'));
  assert.deepEqual(await feed(final), only({ unchanged: 1, differences }), 'sent again');
});

test('what the first update left to its defaults stays, and never holds up the final status', async () => {
  const id = newId();
  const full = statusUpdate({ transaction_id: id, reference_id: id });
  await feed({ ...full, created_at: undefined, description: undefined });
  const { advanced, conflicts, differences } = await feed({ ...full, ...SUCCESS });
  assert.deepEqual([advanced, conflicts], [1, []]);
  assert.equal(differences.length, 1);
});

test('another informational value is reported and recorded, and never holds up the final status', async () => {
  const id = newId();
  const first = { bank_reference: 'X', service_code: '18', external_id: '1', source_account_number: '8880001000' };
  const second = { bank_reference: 'Y', service_code: '17', external_id: '2', source_account_number: '8880001001' };
  await feed(statusUpdate({ transaction_id: id, reference_id: id, ...first }));
  const final = { client_id: 'alpha', transaction_id: id, ...SUCCESS, ...second };
  const reason =
    'source_account_number, service_code, external_id, bank_reference: another value than in an earlier status update; ' +
    'the first value stays';
  const differences = [{ line: 1, transaction_id: id, reason }];
  assert.deepEqual(await feed(final), only({ advanced: 1, differences }));
  assert.match(await statusOf(service, id), /SUCCESS/);
  const [, record] = await statusUpdatesOf(service, id);
  assert.deepEqual([record?.outcome, record?.reason], ['advanced', reason]);
  const [stored] = await service.app.database.query(
    `select source_account_number, service_code, external_id, bank_reference from tiba.transactions
      where transaction_id = $1`,
    [id],
  );
  assert.deepEqual(stored, first);
  assert.deepEqual(await feed(final), only({ unchanged: 1, differences }), 'sent again');
  const contradiction = { ...final, amount: '1.00' };
  const conflict = { line: 1, transaction_id: id, reason: 'amount differs from the first status update' };
  assert.deepEqual(await feed(contradiction), only({ conflicts: [conflict] }), 'other fields still conflict');
});

suite('a reference that belongs to another transaction of the client', () => {
  const reasonFor = (holder: string) => `reference_id belongs to the transaction ${holder}`;

  test('is a conflict, recorded with the transaction that has it', async () => {
    const [holder, other] = [newId(), newId()];
    await feed(statusUpdate({ transaction_id: holder, reference_id: holder }));
    const conflicting = statusUpdate({ transaction_id: other, reference_id: holder });
    assert.deepEqual(
      await feed(conflicting),
      only({ conflicts: [{ line: 1, transaction_id: other, reason: reasonFor(holder) }] }),
    );
    assert.equal((await service.get(`/api/v1/check-status/${other}`)).status, 404);
    const records = await statusUpdatesOf(service, holder);
    assert.deepEqual(
      records.map(({ outcome, reason }) => [outcome, reason]),
      [
        ['inserted', null],
        ['conflict', reasonFor(holder)],
      ],
    );
    assert.deepEqual(JSON.parse(records[1]?.raw ?? ''), conflicting);
  });

  test('is a conflict within one feed too: the first line has the reference', async () => {
    const [holder, other] = [newId(), newId()];
    assert.deepEqual(
      await feed(
        statusUpdate({ transaction_id: holder, reference_id: holder }),
        statusUpdate({ transaction_id: other, reference_id: holder }),
        { client_id: 'alpha', transaction_id: other, ...SUCCESS, reference_id: 'x' },
      ),
      only({
        inserted: 1,
        conflicts: [{ line: 2, transaction_id: other, reason: reasonFor(holder) }],
        rejected: [
          {
            line: 3,
            reason:
              'the first status update of a transaction needs amount, bank_code, bank_name, account_number, account_name',
          },
        ],
      }),
    );
  });

  test('of another client is no conflict', async () => {
    const reference = newId();
    const updates = ['alpha', 'beta'].map((client) =>
      statusUpdate({ client_id: client, transaction_id: newId(), reference_id: reference }),
    );
    assert.deepEqual(await feed(...updates), only({ inserted: 2 }));
  });

  test('is compared exactly: case and composition make another reference', async () => {
    const references = ['Inv-é', 'inv-é', 'Inv-e\u0301', 'Inv-é '];
    const updates = references.map((reference) => statusUpdate({ transaction_id: newId(), reference_id: reference }));
    assert.deepEqual(await feed(...updates), only({ inserted: references.length }));
  });
});
