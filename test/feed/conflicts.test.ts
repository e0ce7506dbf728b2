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

const feed = async (...words: Record<string, unknown>[]) => reportOf(await service.feed(words));

const FAILED = { status: 'FAILED', failure_reason: 'ACCOUNT_INACTIVE', processed_at: '2026-11-21T04:40:00.000Z' };
const SUCCESS = { status: 'SUCCESS', processed_at: '2026-11-21T04:40:00.000Z' };

/** What is known, what is then said, and why it is a conflict. */
const CONTRADICTIONS: readonly (readonly [Record<string, unknown>, Record<string, unknown>, string])[] = [
  [SUCCESS, FAILED, 'status FAILED after SUCCESS: a final status never changes'],
  [FAILED, SUCCESS, 'status SUCCESS after FAILED: a final status never changes'],
  ...Object.entries({
    reference_id: 'another reference',
    amount: '150000.01',
    fee: '2500.01',
    currency: 'USD',
    bank_code: 'CENAIDJA',
    bank_name: 'Another Bank',
    account_number: '1234567891',
    account_name: 'BUDI SANTOSA',
    description: 'refund',
    created_at: '2026-11-21T04:32:26.124Z',
  }).flatMap(([field, value]) =>
    // Also a word that would end the transaction changes nothing when it contradicts.
    [{ status: 'PROCESS' }, SUCCESS].map(
      (status) => [{}, { ...status, [field]: value }, `${field} differs from the first status update`] as const,
    ),
  ),
  [{}, { ...SUCCESS, total_amount: '150000.00' }, 'total_amount differs from amount + fee of the first status update'],
];

suite('a word that contradicts what is known is a conflict: reported by its line, kept, never applied', () => {
  for (const [known, said, reason] of CONTRADICTIONS) {
    const was = JSON.stringify(known['status'] ?? 'PROCESS');
    test(`${JSON.stringify(said)} after ${was}`, async () => {
      const id = newId();
      assert.deepEqual(
        await feed(statusUpdate({ transaction_id: id, reference_id: id, ...known })),
        only({ inserted: 1 }),
      );
      const before = await statusOf(service, id);

      const contradiction = { client_id: 'alpha', transaction_id: id, ...said };
      assert.deepEqual(await feed(contradiction), only({ conflicts: [{ line: 1, transaction_id: id, reason }] }));

      assert.equal(await statusOf(service, id), before);
      const [, kept] = await statusUpdatesOf(service, id);
      assert.deepEqual(
        { ...kept, raw: JSON.parse(kept?.raw ?? '{}') },
        {
          source: 'core',
          raw: contradiction,
          outcome: 'conflict',
          reason,
        },
      );
    });
  }

  test('a transaction goes on after a conflict', async () => {
    const id = newId();
    await feed(statusUpdate({ transaction_id: id, reference_id: id }));
    await feed({ client_id: 'alpha', transaction_id: id, status: 'SUCCESS', amount: '1.00' });
    const end = { client_id: 'alpha', transaction_id: id, ...SUCCESS };
    assert.deepEqual(await feed(end), only({ advanced: 1 }));
    assert.deepEqual(await outcomesOf(service, id), ['inserted', 'conflict', 'advanced']);
  });
});

suite('a reference that belongs to another transaction of the client', () => {
  const reasonFor = (holder: string) => `reference_id belongs to the transaction ${holder}`;

  test('is a conflict, kept with the transaction that has it', async () => {
    const [holder, other] = [newId(), newId()];
    await feed(statusUpdate({ transaction_id: holder, reference_id: holder }));
    const rival = statusUpdate({ transaction_id: other, reference_id: holder });
    assert.deepEqual(
      await feed(rival),
      only({ conflicts: [{ line: 1, transaction_id: other, reason: reasonFor(holder) }] }),
    );
    assert.equal((await service.get(`/api/v1/check-status/${other}`)).status, 404);
    const kept = await statusUpdatesOf(service, holder);
    assert.deepEqual(
      kept.map(({ outcome, reason }) => [outcome, reason]),
      [
        ['inserted', null],
        ['conflict', reasonFor(holder)],
      ],
    );
    assert.deepEqual(JSON.parse(kept[1]?.raw ?? ''), rival);
  });

  test('is a conflict within one feed too: the first line has it', async () => {
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
    const words = ['alpha', 'beta'].map((client) =>
      statusUpdate({ client_id: client, transaction_id: newId(), reference_id: reference }),
    );
    assert.deepEqual(await feed(...words), only({ inserted: 2 }));
  });

  test('is compared exactly: case and composition make another reference', async () => {
    const references = ['Inv-é', 'inv-é', 'Inv-e\u0301', 'Inv-é '];
    const words = references.map((reference) => statusUpdate({ transaction_id: newId(), reference_id: reference }));
    assert.deepEqual(await feed(...words), only({ inserted: references.length }));
  });
});
