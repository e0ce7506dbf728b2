import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import pino from 'pino';
import { isTransactionId } from '../../apps/server/src/domain/identifiers.ts';
import { DatabaseUnavailable, openDatabase } from '../../apps/server/src/postgres/database.ts';
import { createTransactionLookUp, type TransactionLookUp } from '../../apps/server/src/postgres/transaction-look-up.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';

let service: TestService;

before(async () => {
  service = await startTestService({ rails: [] });
  const updates = [
    statusUpdate({ transaction_id: 'TL0000000001', reference_id: 'one' }),
    statusUpdate({ transaction_id: 'TL0000000002', reference_id: 'two', client_id: 'beta' }),
    // A reference ID that equals another transaction's ID, and one that only has the form of a transaction ID.
    statusUpdate({ transaction_id: 'TL0000000003', reference_id: 'TL0000000001' }),
    statusUpdate({ transaction_id: 'TL0000000004', reference_id: 'TL0000000009' }),
    ...['木/é %,"\'\\', ' one', 'ONE', 'x'.repeat(128), '\u{1f600}'].map((reference, index) =>
      statusUpdate({ transaction_id: `TM000000000${index}`, reference_id: reference }),
    ),
  ];
  assert.equal((await service.feed(updates)).json.data?.['inserted'], updates.length);
});
after(() => service?.close());

const find = (lookUp: TransactionLookUp, clientId: string, value: string, alsoTransactionId: boolean) =>
  new Promise<string | null>((resolve, reject) => {
    lookUp.find(clientId, value, alsoTransactionId, (error, found) => {
      if (error !== null) reject(error);
      else resolve(found === null ? null : (JSON.parse(found.rendered) as { transaction_id: string }).transaction_id);
    });
  });

/** As `find`, for each of the values in one query; `alsoTransactionId` follows from the value's form. */
async function findAll(lookUp: TransactionLookUp, clientId: string, values: readonly string[]) {
  const found = await lookUp.findAll(clientId, values);
  return found.map((each) => {
    if (each === null) return null;
    return (JSON.parse(each.rendered) as { transaction_id: string }).transaction_id;
  });
}

suite('a transaction look-up', () => {
  const cases: readonly (readonly [string, string, boolean, string | null])[] = [
    ['alpha', 'TL0000000001', true, 'TL0000000001'],
    ['alpha', 'TL0000000001', false, 'TL0000000003'],
    ['alpha', 'TL0000000009', true, 'TL0000000004'],
    ['alpha', 'one', false, 'TL0000000001'],
    ['alpha', ' one', false, 'TM0000000001'],
    ['alpha', 'ONE', false, 'TM0000000002'],
    ['alpha', 'One', false, null],
    ['alpha', 'one ', false, null],
    ['alpha', '木/é %,"\'\\', false, 'TM0000000000'],
    ['alpha', '木/e\u0301 %,"\'\\', false, null],
    ['alpha', 'x'.repeat(128), false, 'TM0000000003'],
    ['alpha', 'x'.repeat(127), false, null],
    ['alpha', '\u{1f600}', false, 'TM0000000004'],
    // Another client's transactions are never found.
    ['alpha', 'TL0000000002', true, null],
    ['alpha', 'two', false, null],
    ['beta', 'TL0000000002', true, 'TL0000000002'],
    ['beta', 'two', false, 'TL0000000002'],
    ['beta', 'TL0000000001', true, null],
    ['unknown-client', 'one', false, null],
  ];

  // A distributed PostgreSQL gets another statement, which one PostgreSQL executes too.
  test('matches transaction IDs before reference IDs, exactly, and only of the same client', async () => {
    for (const distributed of [false, true]) {
      const lookUp = createTransactionLookUp({ ...service.app.database, distributed });
      for (const [clientId, value, alsoTransactionId, expected] of cases) {
        assert.equal(await find(lookUp, clientId, value, alsoTransactionId), expected, `${clientId} ${value}`);
      }
      const found = await Promise.all(cases.map(([clientId, value, also]) => find(lookUp, clientId, value, also)));
      assert.deepEqual(
        found,
        cases.map(([, , , expected]) => expected),
      );
    }
  });

  test('answers each look-up with its own result, also when many share a query', async () => {
    const sizes: number[] = [];
    const lookUp = createTransactionLookUp(service.app.database, { onBatch: (size) => sizes.push(size) });
    const all = Array.from({ length: 100 }, (_, round) => [
      ...cases.slice(round % 19),
      ...cases.slice(0, round % 19),
    ]).flat();
    const found = await Promise.all(all.map(([clientId, value, also]) => find(lookUp, clientId, value, also)));
    assert.deepEqual(
      found,
      all.map(([, , , expected]) => expected),
    );
    assert.equal(
      sizes.reduce((sum, size) => sum + size, 0),
      all.length,
    );
    assert.deepEqual([sizes.length, Math.max(...sizes)], [4, 512], 'as many look-ups as fit share a query');
  });

  test('finds many of one client in one query, each as if it were looked up alone', async () => {
    const queries: unknown[] = [];
    const { database } = service.app;
    const query: typeof database.query = (...parameters) => {
      queries.push(parameters[2]);
      return database.query(...parameters);
    };
    for (const [distributed, statement] of [
      [false, 'transaction-look-up-all'],
      [true, 'transaction-look-up-of-client'],
    ] as const) {
      const lookUp = createTransactionLookUp({ ...database, query, distributed });
      for (const client of ['alpha', 'beta', 'unknown-client']) {
        const own = cases.filter(([clientId, value, also]) => clientId === client && also === isTransactionId(value));
        const values = [...own, ...own.toReversed()].map(([, value]) => value);
        const expected = [...own, ...own.toReversed()].map(([, , , transactionId]) => transactionId);
        assert.deepEqual(await findAll(lookUp, client, values), expected);
      }
      assert.deepEqual(queries, Array(3).fill(statement));
      assert.deepEqual(await findAll(lookUp, 'alpha', []), []);
      assert.equal(queries.length, 3, 'nothing to look up needs no query');
      queries.length = 0;
    }
  });

  test('reads the table each time', async () => {
    const lookUp = createTransactionLookUp(service.app.database);
    assert.equal(await find(lookUp, 'alpha', 'fresh', false), null);
    await service.feed(statusUpdate({ transaction_id: 'TL0000000099', reference_id: 'fresh' }));
    assert.equal(await find(lookUp, 'alpha', 'fresh', false), 'TL0000000099');
  });

  test('fails all queued look-ups at once when there is no database, without exception', async () => {
    const unreachable = openDatabase({
      connection: { host: '/nonexistent' },
      connectionsMax: 2,
      log: pino({ level: 'silent' }),
    });
    try {
      const lookUp = createTransactionLookUp(unreachable, { batchMax: 10 });
      const startedMs = performance.now();
      const results = await Promise.allSettled(
        Array.from({ length: 1_000 }, () => find(lookUp, 'alpha', 'one', false)),
      );
      assert.ok(results.every((each) => each.status === 'rejected' && each.reason instanceof DatabaseUnavailable));
      assert.ok(performance.now() - startedMs < timeLimitMs(1_000));
    } finally {
      await unreachable.close();
    }
  });

  // A throw in one callback left up to 511 others without an answer, and ended the process.
  test('answers the others of a batch when one callback throws, and that callback gets its own error', async () => {
    const lookUp = createTransactionLookUp(service.app.database);
    const thrown = new Error('thrown by a callback');
    const errors: unknown[] = [];
    const others = Array.from({ length: 10 }, (_, index) => {
      if (index === 5) {
        lookUp.find('alpha', 'one', false, (error) => {
          errors.push(error);
          throw thrown;
        });
      }
      return find(lookUp, 'alpha', 'one', false);
    });
    assert.deepEqual(new Set(await Promise.all(others)), new Set(['TL0000000001']));
    assert.deepEqual(errors, [null, thrown]);
  });

  // A result in an unknown format did the same.
  test('a transaction that cannot be read gets 500, and the others of its batch are answered', async () => {
    const broken = 'TL0000000050';
    await service.feed(statusUpdate({ transaction_id: broken, reference_id: 'broken' }));
    await service.app.database.query(
      "update tiba.transactions set rendered = 'broken', rail = 'bank', rail_reference = 'x' where transaction_id = $1",
      [broken],
    );
    const ids = ['TL0000000001', broken, 'TL0000000003', broken, 'TL0000000004'];
    const answers = await Promise.all(ids.map((id) => service.get(`/api/v1/check-status/${id}`)));
    assert.deepEqual(
      answers.map(({ status, json }) => [status, json.error_code]),
      ids.map((id) => (id === broken ? [500, 'INTERNAL_ERROR'] : [200, undefined])),
    );
  });

  test('fails at once when 20,000 look-ups are queued', async () => {
    const lookUp = createTransactionLookUp(service.app.database);
    const queued = Array.from({ length: 20_000 }, () => find(lookUp, 'alpha', 'one', false));
    await assert.rejects(find(lookUp, 'alpha', 'one', false), DatabaseUnavailable);
    assert.deepEqual(new Set(await Promise.all(queued)), new Set(['TL0000000001']));
    assert.equal(await find(lookUp, 'alpha', 'one', false), 'TL0000000001');
  });
});
