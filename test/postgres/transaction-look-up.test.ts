import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import pino from 'pino';
import { DatabaseUnavailable, openDatabase } from '../../apps/server/src/postgres/database.ts';
import { createTransactionLookUp, type TransactionLookUp } from '../../apps/server/src/postgres/transaction-look-up.ts';
import { startTestService, type TestService, word } from '../support/service.ts';
import { bound } from '../support/suite-environment.ts';

let service: TestService;

before(async () => {
  service = await startTestService({ rails: [] });
  const words = [
    word({ transaction_id: 'TL0000000001', reference_id: 'one' }),
    word({ transaction_id: 'TL0000000002', reference_id: 'two', client_id: 'beta' }),
    // A reference that looks like another transaction's ID, and one that looks like its own kind of ID.
    word({ transaction_id: 'TL0000000003', reference_id: 'TL0000000001' }),
    word({ transaction_id: 'TL0000000004', reference_id: 'TL0000000009' }),
    ...['木/é %,"\'\\', ' one', 'ONE', 'x'.repeat(128), '\u{1f600}'].map((reference, index) =>
      word({ transaction_id: `TM000000000${index}`, reference_id: reference }),
    ),
  ];
  assert.equal((await service.feed(words)).json.data?.['inserted'], words.length);
});
after(() => service?.close());

const ask = (lookUp: TransactionLookUp, clientId: string, value: string, alsoTransactionId: boolean) =>
  new Promise<string | null>((resolve, reject) => {
    lookUp.find(clientId, value, alsoTransactionId, (error, found) => {
      if (error !== null) reject(error);
      else resolve(found === null ? null : (JSON.parse(found.rendered) as { transaction_id: string }).transaction_id);
    });
  });

suite('looking up', () => {
  const questions: readonly (readonly [string, string, boolean, string | null])[] = [
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
    // Nobody finds what is another client's.
    ['alpha', 'TL0000000002', true, null],
    ['alpha', 'two', false, null],
    ['beta', 'TL0000000002', true, 'TL0000000002'],
    ['beta', 'two', false, 'TL0000000002'],
    ['beta', 'TL0000000001', true, null],
    ['nobody', 'one', false, null],
  ];

  test('finds by transaction ID before reference ID, exactly, among the own transactions only', async () => {
    const lookUp = createTransactionLookUp(service.app.database);
    for (const [clientId, value, alsoTransactionId, expected] of questions) {
      assert.equal(await ask(lookUp, clientId, value, alsoTransactionId), expected, `${clientId} ${value}`);
    }
  });

  test('answers each with its own, however many arrive at once and whatever shares the query', async () => {
    const sizes: number[] = [];
    const lookUp = createTransactionLookUp(service.app.database, { onBatch: (size) => sizes.push(size) });
    const all = Array.from({ length: 100 }, (_, round) => [
      ...questions.slice(round % 19),
      ...questions.slice(0, round % 19),
    ]).flat();
    const found = await Promise.all(all.map(([clientId, value, also]) => ask(lookUp, clientId, value, also)));
    assert.deepEqual(
      found,
      all.map(([, , , expected]) => expected),
    );
    assert.equal(
      sizes.reduce((sum, size) => sum + size, 0),
      all.length,
    );
    assert.deepEqual([sizes.length, Math.max(...sizes)], [4, 512], 'as many as fit share a query');
  });

  test('reads afresh each time', async () => {
    const lookUp = createTransactionLookUp(service.app.database);
    assert.equal(await ask(lookUp, 'alpha', 'fresh', false), null);
    await service.feed(word({ transaction_id: 'TL0000000099', reference_id: 'fresh' }));
    assert.equal(await ask(lookUp, 'alpha', 'fresh', false), 'TL0000000099');
  });

  test('fails all that wait when there is no database, at once, and none is forgotten', async () => {
    const nowhere = openDatabase({
      connection: { host: '/nonexistent' },
      connectionsMax: 2,
      log: pino({ level: 'silent' }),
    });
    try {
      const lookUp = createTransactionLookUp(nowhere, { batchMax: 10 });
      const startedMs = performance.now();
      const results = await Promise.allSettled(Array.from({ length: 1_000 }, () => ask(lookUp, 'alpha', 'one', false)));
      assert.ok(results.every((each) => each.status === 'rejected' && each.reason instanceof DatabaseUnavailable));
      assert.ok(performance.now() - startedMs < bound(1_000));
    } finally {
      await nowhere.close();
    }
  });

  test('past 20,000 that wait, the next one is told at once', async () => {
    const lookUp = createTransactionLookUp(service.app.database);
    const waiting = Array.from({ length: 20_000 }, () => ask(lookUp, 'alpha', 'one', false));
    await assert.rejects(ask(lookUp, 'alpha', 'one', false), DatabaseUnavailable);
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set(['TL0000000001']));
    assert.equal(await ask(lookUp, 'alpha', 'one', false), 'TL0000000001');
  });
});
