import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { publishedReason } from '../../apps/server/src/domain/failure-reason.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { createIds, only, outcomesOf, reportOf, statusOf, statusUpdatesOf } from './harness.ts';

let service: TestService;
const newId = createIds('TW');

before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

const feed = async (...updates: Record<string, unknown>[]) => reportOf(await service.feed(updates));
const newTransaction = (changes: Record<string, unknown> = {}) => {
  const id = newId();
  return { id, first: statusUpdate({ transaction_id: id, reference_id: `ref ${id}`, ...changes }) };
};
const partial = (id: string, changes: Record<string, unknown>) => ({
  client_id: 'alpha',
  transaction_id: id,
  ...changes,
});
const without = (fields: Record<string, unknown>, ...names: string[]) =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
const PROCESSED_AT = '2026-11-21T04:40:00.500Z';

suite('the first update of a transaction', () => {
  test('creates it, and check-status returns all of its fields', async () => {
    const { id, first } = newTransaction();
    assert.deepEqual(await feed(first), only({ inserted: 1 }));
    assert.equal(
      await statusOf(service, id),
      `{"transaction_id":"${id}","reference_id":"ref ${id}","status":"PROCESS","amount":150000.00,"fee":2500.00,` +
        '"total_amount":152500.00,"bank_code":"014","bank_name":"Bank Central Asia","account_number":"1234567890",' +
        '"account_name":"BUDI SANTOSO","description":"Refund","created_at":"2026-11-21T04:32:26.123Z",' +
        '"processed_at":null,"failure_reason":null}',
    );
  });

  test('may have a final status', async () => {
    const failed = newTransaction({ status: 'FAILED', failure_reason: 'ACCOUNT_INACTIVE', processed_at: PROCESSED_AT });
    const succeeded = newTransaction({ status: 'SUCCESS', processed_at: PROCESSED_AT });
    assert.deepEqual(await feed(failed.first, succeeded.first), only({ inserted: 2 }));
    assert.match(
      await statusOf(service, failed.id),
      /"status":"FAILED".*"processed_at":"2026-11-21T04:40:00.500Z","failure_reason":"ACCOUNT_INACTIVE: [^"]+"}/,
    );
    assert.match(
      await statusOf(service, succeeded.id),
      /"status":"SUCCESS".*"processed_at":"2026-11-21T04:40:00.500Z","failure_reason":null}/,
    );
  });

  test('may omit fields with a default: no fee, IDR, no description, created now', async () => {
    const { id, first } = newTransaction();
    const before = new Date().toISOString();
    assert.deepEqual(await feed(without(first, 'fee', 'description', 'created_at')), only({ inserted: 1 }));
    const data = await statusOf(service, id);
    assert.match(data, /"amount":150000\.00,"fee":0\.00,"total_amount":150000\.00,/);
    assert.match(data, /"description":"",/);
    const createdAt = /"created_at":"([^"]+)"/.exec(data)?.[1] ?? '';
    assert.ok(createdAt >= before && createdAt <= new Date().toISOString(), createdAt);
    const [stored] = await service.app.database.query<{ currency: string }>(
      'select currency from tiba.transactions where transaction_id = $1',
      [id],
    );
    assert.equal(stored?.currency, 'IDR');
  });

  test('is processed now if it is final and has no processed_at', async () => {
    const { id, first } = newTransaction({ status: 'SUCCESS' });
    const before = new Date().toISOString();
    await feed(first);
    const processedAt = /"processed_at":"([^"]+)"/.exec(await statusOf(service, id))?.[1] ?? '';
    assert.ok(processedAt >= before && processedAt <= new Date().toISOString(), processedAt);
  });

  test('a null field counts as omitted', async () => {
    const { first } = newTransaction({ fee: null, description: null, processed_at: null, failure_reason: null });
    assert.deepEqual(await feed(first), only({ inserted: 1 }));
  });

  for (const field of ['reference_id', 'amount', 'bank_code', 'account_number', 'account_name']) {
    test(`is rejected without ${field}, and the reason names the missing field`, async () => {
      const { id, first } = newTransaction();
      const missing = field === 'bank_code' ? 'bank_code, bank_name' : field;
      assert.deepEqual(
        await feed(without(first, field)),
        only({ rejected: [{ line: 1, reason: `the first status update of a transaction needs ${missing}` }] }),
      );
      assert.deepEqual(await statusUpdatesOf(service, id), []);
      assert.equal((await service.get(`/api/v1/check-status/${id}`)).status, 404);
    });
  }

  test('a final update of an unknown transaction is rejected with all missing fields', async () => {
    assert.deepEqual(
      await feed(partial(newId(), { status: 'SUCCESS' })),
      only({
        rejected: [
          {
            line: 1,
            reason:
              'the first status update of a transaction needs reference_id, amount, bank_code, bank_name, account_number, account_name',
          },
        ],
      }),
    );
  });

  test('may use a bank code that the directory does not contain, with a bank_name', async () => {
    const known = newTransaction({ bank_code: 'NEWBANK', bank_name: 'A Bank of Tomorrow' });
    const unknown = newTransaction({ bank_code: 'NEWBANK' });
    assert.deepEqual(
      await feed(known.first, unknown.first),
      only({
        inserted: 1,
        rejected: [{ line: 2, reason: 'bank_code is not in the bank directory: give bank_name as well' }],
      }),
    );
    assert.match(await statusOf(service, known.id), /"bank_code":"NEWBANK","bank_name":"A Bank of Tomorrow"/);
  });

  test('is rejected if its total is not amount + fee, also with the default fee', async () => {
    const wrong = newTransaction({ total_amount: '152500.01' });
    const feeless = newTransaction({ total_amount: '152500.00', fee: null });
    const right = newTransaction({ total_amount: '152500.00' });
    assert.deepEqual(
      await feed(wrong.first, feeless.first, right.first),
      only({ inserted: 1, rejected: [1, 2].map((line) => ({ line, reason: 'total_amount must be amount + fee' })) }),
    );
  });

  test('the same transaction ID of two clients is two transactions', async () => {
    const { id, first } = newTransaction();
    assert.deepEqual(await feed(first, { ...first, client_id: 'beta', amount: '1.00' }), only({ inserted: 2 }));
    assert.match(await statusOf(service, id), /"amount":150000\.00/);
  });

  test('amounts that a binary float cannot represent stay exact, as a number and as a string', async () => {
    const asNumber = newTransaction();
    const asString = newTransaction({ amount: '9007199254740993.01' });
    const number = JSON.stringify(asNumber.first).replace('"150000.00"', '9007199254740993.01');
    const report = reportOf(await service.feed(`${number}\n${JSON.stringify(asString.first)}`));
    assert.deepEqual(report, only({ inserted: 2 }));
    for (const { id } of [asNumber, asString]) {
      assert.match(
        await statusOf(service, id),
        /"amount":9007199254740993\.01,"fee":2500\.00,"total_amount":9007199254743493\.01,/,
      );
    }
  });

  test('the largest amount and the largest fee have an exact sum', async () => {
    const { id, first } = newTransaction({ amount: '999999999999999999.99', fee: '999999999999999999.99' });
    assert.deepEqual(await feed(first), only({ inserted: 1 }));
    assert.match(await statusOf(service, id), /"total_amount":1999999999999999999\.98,/);
  });
});

suite('a later update', () => {
  // Regression: the name in the directory contradicted the one that the first update gave, and the end was not applied.
  for (const [bank, fields] of [
    ['a bank whose name the core gave', { bank_code: '014', bank_name: 'BCA Syariah Prioritas' }],
    ['a bank that the directory does not contain', { bank_code: 'NEWBANK', bank_name: 'A Bank of Tomorrow' }],
  ] as const) {
    test(`repeats the code of ${bank}, without the name: nothing contradicts it`, async () => {
      const { id, first } = newTransaction(fields);
      const later = { ...without(first, 'bank_name'), status: 'SUCCESS', processed_at: PROCESSED_AT };
      assert.deepEqual(await feed(first), only({ inserted: 1 }));
      assert.deepEqual(await feed(later), only({ advanced: 1 }));
      assert.match(await statusOf(service, id), new RegExp(`"bank_name":"${fields.bank_name}"`));
    });
  }

  for (const [status, ending] of [
    ['SUCCESS', {}],
    ['FAILED', { failure_reason: 'ACCOUNT_INACTIVE' }],
  ] as const) {
    test(`changes PROCESS to ${status}`, async () => {
      const { id, first } = newTransaction();
      const last = partial(id, { status, processed_at: PROCESSED_AT, ...ending });
      assert.deepEqual(await feed(first), only({ inserted: 1 }));
      assert.deepEqual(await feed(last), only({ advanced: 1 }));
      const reason = status === 'FAILED' ? JSON.stringify(publishedReason('ACCOUNT_INACTIVE')) : 'null';
      assert.ok((await statusOf(service, id)).endsWith(`"processed_at":"${PROCESSED_AT}","failure_reason":${reason}}`));
      assert.deepEqual(await outcomesOf(service, id), ['inserted', 'advanced']);
    });
  }

  test('that repeats what is stored changes nothing, however often, and is recorded', async () => {
    const { id, first } = newTransaction();
    const last = partial(id, { status: 'SUCCESS', processed_at: PROCESSED_AT });
    await feed(first, last);
    const known = await statusOf(service, id);
    for (const repeated of [first, last]) assert.deepEqual(await feed(repeated), only({ unchanged: 1 }));
    assert.deepEqual(await feed(first, last, last), only({ unchanged: 3 }));
    assert.equal(await statusOf(service, id), known);
    assert.deepEqual(await outcomesOf(service, id), [
      'inserted',
      'advanced',
      ...Array.from({ length: 5 }, () => 'unchanged'),
    ]);
  });

  test('PROCESS that arrives late changes nothing', async () => {
    const { id, first } = newTransaction({ status: 'SUCCESS', processed_at: PROCESSED_AT });
    await feed(first);
    assert.deepEqual(await feed(partial(id, { status: 'PROCESS' })), only({ unchanged: 1 }));
    assert.match(await statusOf(service, id), /"status":"SUCCESS"/);
  });

  test('with a total may repeat the amount, the fee, or neither', async () => {
    const { id, first } = newTransaction();
    await feed(first);
    const totals = [{ amount: '150000.00' }, { fee: 2500 }, {}].map((part) =>
      partial(id, { status: 'PROCESS', total_amount: '152500.00', ...part }),
    );
    assert.deepEqual(await feed(...totals), only({ unchanged: 3 }));
  });

  test('names in decomposed Unicode are the same names', async () => {
    const { first } = newTransaction({ account_name: 'JOSÉ' });
    const report = await feed(first, { ...first, account_name: 'JOSE\u0301' });
    assert.deepEqual(report, only({ inserted: 1, unchanged: 1 }));
  });
});

suite('several updates of one transaction in one feed', () => {
  test('are applied in order, each to the result of the one before it', async () => {
    const { id, first } = newTransaction();
    const report = await feed(
      first,
      first,
      partial(id, { status: 'FAILED', failure_reason: 'ACCOUNT_INACTIVE', processed_at: PROCESSED_AT }),
      partial(id, { status: 'SUCCESS' }),
      partial(id, { status: 'PROCESS' }),
    );
    assert.deepEqual(
      report,
      only({
        inserted: 1,
        advanced: 1,
        unchanged: 2,
        conflicts: [
          { line: 4, transaction_id: id, reason: 'status SUCCESS after FAILED: a final status never changes' },
        ],
      }),
    );
    assert.deepEqual(await outcomesOf(service, id), ['inserted', 'unchanged', 'advanced', 'conflict', 'unchanged']);
    assert.match(await statusOf(service, id), /"status":"FAILED"/);
  });

  test('an update before the first complete one is rejected, and later ones are not', async () => {
    const { id, first } = newTransaction();
    const report = await feed(partial(id, { status: 'SUCCESS' }), first, partial(id, { status: 'SUCCESS' }));
    assert.deepEqual([report.inserted, report.advanced, report.rejected.map(({ line }) => line)], [1, 1, [1]]);
  });

  test('keep their order across batches of 1,000 lines', async () => {
    const ids = Array.from({ length: 1_300 }, newId);
    const firsts = ids.map((id) => statusUpdate({ transaction_id: id, reference_id: id }));
    const lasts = ids.map((id) => partial(id, { status: 'SUCCESS', processed_at: PROCESSED_AT }));
    // Each of these has a message on either side of a batch boundary: of the first messages, and of the last ones.
    const failed = [699, 700, 999, 1_000].map((index) =>
      partial(ids[index] ?? '', { status: 'FAILED', failure_reason: 'ACCOUNT_INACTIVE' }),
    );
    const lines = [...firsts, ...lasts, ...failed].map((each) => JSON.stringify(each));
    const report = reportOf(await service.feed(lines.join('\n')));
    assert.deepEqual([report.inserted, report.advanced, report.unchanged, report.rejected], [1_300, 1_300, 0, []]);
    assert.deepEqual(
      report.conflicts.map(({ line, transaction_id }) => [line, transaction_id]),
      [699, 700, 999, 1_000].map((index, position) => [2_601 + position, ids[index]]),
    );
    const stored = await service.app.database.query<{ status: string; count: string }>(
      'select status, count(*) from tiba.transactions where transaction_id = any($1) group by 1',
      [ids],
    );
    assert.deepEqual(stored, [{ status: 'SUCCESS', count: '1300' }]);
    assert.deepEqual(reportOf(await service.feed(lines.join('\n'))), {
      ...report,
      inserted: 0,
      advanced: 0,
      unchanged: 2_600,
    });
  });
});
