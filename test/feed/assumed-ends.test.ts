import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { listEvents } from '../../apps/server/src/postgres/events.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { CREATED_AT, createFreshUpdater, type Message, messagesOf, newId, PROCESSED_AT } from './fresh-updater.ts';

/**
 * An update that ends a transaction and says everything about it is taken at its word, without a look
 * (docs/decisions/0059). Here it is the first one of an updater, which therefore assumes it.
 */

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

const createUpdater = (versionFloor = 0) => createFreshUpdater(service.app.database, versionFloor);

/** Stores `first`, and applies `final`. */
async function end(first: Message, final: Message) {
  await createUpdater().apply(first);
  const { applied, attempts } = await createUpdater().apply(final);
  const [{ outcome, reason } = { outcome: null, reason: null }] = applied;
  return { outcome, reason, attempts };
}

interface StoredRow extends Record<string, unknown> {
  status: string;
  version: number;
  processed_at: Date | null;
  rail: string | null;
  bank_reference: string | null;
  inserted: boolean;
  advanced: boolean;
  events: number;
}

async function stored(id: string): Promise<StoredRow | undefined> {
  const [row] = await service.app.database.query<StoredRow>(
    `select t.status, t.version, t.processed_at, t.rail, t.bank_reference, t.inserted_by is not null as inserted,
            t.advanced_by is not null as advanced,
            (select count(*)::integer from tiba.events v
              where v.client_id = t.client_id and v.subject_id = t.transaction_id) as events
       from tiba.transactions t where t.client_id = 'alpha' and t.transaction_id = $1`,
    [id],
  );
  return row;
}

test('an end that says what is stored is applied at once', async () => {
  const id = newId();
  const { first, final } = messagesOf(id);
  assert.deepEqual(await end(first, final), { outcome: 'advanced', reason: null, attempts: 1 });
  assert.deepEqual(await stored(id), {
    status: 'SUCCESS',
    version: 2,
    processed_at: new Date(PROCESSED_AT),
    rail: null,
    bank_reference: null,
    inserted: true,
    advanced: true,
    events: 1,
  });
  const answer = await service.get(`/api/v1/check-status/${id}`);
  assert.match(answer.text, /"status":"SUCCESS".*"amount":150000\.00,"fee":2500\.00,"total_amount":152500\.00/);
});

suite('an end that says something else is decided with a look', () => {
  const others: Readonly<Record<string, Message>> = {
    reference_id: { reference_id: 'another' },
    amount: { amount: '150000.01' },
    fee: { fee: '2500.01' },
    currency: { currency: 'USD' },
    bank_code: { bank_code: '008' },
    account_number: { account_number: '1234567891' },
    account_name: { account_name: 'ANOTHER NAME' },
  };
  for (const [field, changes] of Object.entries(others)) {
    test(field, async () => {
      const id = newId();
      const { first, final } = messagesOf(id);
      const { outcome, reason, attempts } = await end(first, { ...final, ...changes });
      assert.deepEqual({ outcome, attempts }, { outcome: 'conflict', attempts: 2 });
      assert.match(String(reason), /differs from the first status update$/);
      assert.equal((await stored(id))?.status, 'PROCESS');
    });
  }

  const kept: Readonly<Record<string, Message>> = {
    bank_name: { bank_name: 'Another Bank' },
    description: { description: 'Refunds' },
    created_at: { created_at: '2026-11-21T04:32:26.124Z' },
  };
  for (const [field, changes] of Object.entries(kept)) {
    test(`${field}, which stays as it was: the transaction ends`, async () => {
      const id = newId();
      const { first, final } = messagesOf(id);
      const { outcome, attempts } = await end(first, { ...final, ...changes });
      assert.deepEqual({ outcome, attempts }, { outcome: 'advanced', attempts: 2 });
      const [before, after] = [await stored(id), changes[field]];
      assert.equal(before?.status, 'SUCCESS');
      assert.ok(!JSON.stringify(before).includes(String(after)));
    });
  }

  test('rail_reference', async () => {
    const id = newId();
    const { first, final } = messagesOf(id);
    const rail = { rail: 'bank-one', rail_reference: 'R1' };
    const { outcome, attempts } = await end({ ...first, ...rail }, { ...final, ...rail, rail_reference: 'R2' });
    assert.deepEqual({ outcome, attempts }, { outcome: 'conflict', attempts: 2 });
  });

  test('of a transaction that has another final status', async () => {
    const id = newId();
    const { first, final } = messagesOf(id);
    await end(first, final);
    const failed = { ...final, status: 'FAILED', failure_reason: 'ACCOUNT_CLOSED' };
    const { outcome, attempts } = await end(first, failed);
    assert.deepEqual({ outcome, attempts }, { outcome: 'conflict', attempts: 2 });
    assert.equal((await stored(id))?.status, 'SUCCESS');
  });
});

suite('an end is decided with a look, and applied,', () => {
  test('when nothing is stored', async () => {
    const id = newId();
    const { applied, attempts } = await createUpdater().apply(messagesOf(id).final);
    assert.deepEqual([applied[0]?.outcome, attempts], ['inserted', 2]);
    assert.equal((await stored(id))?.events, 1);
  });

  test('when it leaves out what the core has told before', async () => {
    const id = newId();
    const { first, final } = messagesOf(id);
    const known = { ...first, rail: 'bank-one', rail_reference: `R${id}`, bank_reference: 'B1' };
    assert.deepEqual(await end(known, final), { outcome: 'advanced', reason: null, attempts: 2 });
    const row = await stored(id);
    assert.deepEqual([row?.status, row?.rail, row?.bank_reference], ['SUCCESS', 'bank-one', 'B1']);
  });

  for (const [field, value, other] of [
    ['source_account_number', '1234567890', '1234567899'],
    ['service_code', '18', '17'],
    ['external_id', 'X1', 'X2'],
    ['bank_reference', 'B1', 'B2'],
  ] as const) {
    test(`when ${field} is stored, and left out or different`, async () => {
      for (const given of [undefined, other]) {
        const id = newId();
        const { first, final } = messagesOf(id);
        const { outcome, reason, attempts } = await end({ ...first, [field]: value }, { ...final, [field]: given });
        assert.deepEqual({ outcome, attempts }, { outcome: 'advanced', attempts: 2 });
        assert.equal(reason === null, given === undefined, String(reason));
        const [row] = await service.app.database.query<Record<string, unknown>>(
          `select ${field} as value from tiba.transactions where transaction_id = $1`,
          [id],
        );
        assert.equal(row?.['value'], value);
      }
    });
  }

  test('when it adds something', async () => {
    const id = newId();
    const { first, final } = messagesOf(id);
    assert.equal((await end(first, { ...final, bank_reference: 'B2' })).attempts, 2);
    assert.equal((await stored(id))?.bank_reference, 'B2');
  });

  test('when the transaction was overdue', async () => {
    const id = newId();
    const { first, final } = messagesOf(id);
    await createUpdater().apply(first);
    await createUpdater().markOverdue(new Date('2999-01-01T00:00:00.000Z'));
    const { applied, attempts } = await createUpdater().apply(final);
    assert.deepEqual([applied[0]?.outcome, attempts], ['advanced', 2]);
    const row = await stored(id);
    assert.deepEqual([row?.version, row?.events], [3, 2]);
  });

  // The version that it gets then is the one that a transaction of the time after the restore begins with.
  test('when the transaction became overdue after a restore: its overdue event still shows it in PROCESS', async () => {
    const id = newId();
    const { first, final } = messagesOf(id);
    await createUpdater().apply(first);
    await createUpdater(1_000).markOverdue(new Date('2999-01-01T00:00:00.000Z'));
    const { applied, attempts } = await createUpdater(1_000).apply(final);
    assert.deepEqual([applied[0]?.outcome, attempts], ['advanced', 2]);
    const events = await listEvents(service.app.database, 'alpha', { after: 0, limit: 1_000 });
    assert.deepEqual(
      events
        .filter(({ subjectId }) => subjectId === id)
        .map(({ kind, version, data }) => [kind, version, /"status":"(\w+)"/.exec(data)?.[1]]),
      [
        ['disbursement.overdue', 1_001, 'PROCESS'],
        ['disbursement.succeeded', 1_002, 'SUCCESS'],
      ],
    );
    const [row] = await service.app.database.query<{ overdue: boolean }>(
      'select overdue_since is not null as overdue from tiba.transactions where transaction_id = $1',
      [id],
    );
    assert.equal(row?.overdue, true);
  });

  test('when its batch has another update of the transaction', async () => {
    const id = newId();
    const { first, final } = messagesOf(id);
    await createUpdater().apply(first);
    const reversed = { ...final, reversed_at: new Date(Date.parse(CREATED_AT) + 60_000).toISOString() };
    const { applied, attempts } = await createUpdater().apply(final, reversed);
    assert.deepEqual([applied.map(({ outcome }) => outcome), attempts], [['advanced', 'reversed'], 1]);
    assert.deepEqual([(await stored(id))?.version, (await stored(id))?.events], [3, 2]);
  });
});

// Regression: it was a conflict with what was assumed, whatever was stored.
test('an end whose total is wrong is judged by what is stored, if anything is', async () => {
  const wrong = { total_amount: '1.00' };
  const unknown = messagesOf(newId());
  const { applied } = await createUpdater().apply({ ...unknown.final, ...wrong });
  assert.deepEqual(
    applied.map(({ outcome, reason }) => [outcome, reason]),
    [['rejected', 'total_amount must be amount + fee']],
  );
  const known = messagesOf(newId());
  const { outcome, reason } = await end(known.first, { ...known.final, amount: '7.00', ...wrong });
  assert.deepEqual([outcome, reason], ['conflict', 'amount differs from the first status update']);
});

test('what an end says of its rail is compared too', async () => {
  const id = newId();
  const { first, final } = messagesOf(id);
  const rail = { rail: 'bank-one', rail_reference: `R${id}` };
  assert.deepEqual(await end({ ...first, ...rail }, { ...final, ...rail }), {
    outcome: 'advanced',
    reason: null,
    attempts: 1,
  });
});

test('a reversal that comes with the end is applied at once', async () => {
  const id = newId();
  const { first, final } = messagesOf(id);
  assert.equal(
    (await end(first, { ...final, reversed_at: new Date(Date.parse(CREATED_AT) + 60_000).toISOString() })).attempts,
    1,
  );
  assert.deepEqual([(await stored(id))?.version, (await stored(id))?.events], [3, 2]);
});

test('one end of a batch that is not as assumed: the batch is applied again, each update once', async () => {
  const ids = Array.from({ length: 20 }, newId);
  const updater = createUpdater();
  await updater.apply(...ids.map((id) => messagesOf(id).first));
  const finals = ids.map((id, index) => ({ ...messagesOf(id).final, ...(index === 7 ? { amount: '1.00' } : {}) }));
  const { applied, attempts } = await updater.apply(...finals);
  assert.equal(attempts, 2);
  assert.deepEqual(
    applied.map(({ outcome }) => outcome),
    ids.map((_, index) => (index === 7 ? 'conflict' : 'advanced')),
  );
  for (const [index, id] of ids.entries()) assert.equal((await stored(id))?.events, index === 7 ? 0 : 1, id);
});
