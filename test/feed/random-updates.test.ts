import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import type { FeedReport } from '../../apps/server/src/feed/report.ts';
import { parsePrinted, printed } from '../../apps/server/src/postgres/rendered-transactions.ts';
import { startTestService, statusUpdate, type TestClient, type TestService } from '../support/service.ts';
import { post, reportOf } from './harness.ts';

/**
 * Two disbursement cores concurrently feed updates of the same few transactions, and contradict themselves and each
 * other. The seed is printed; FC_SEED=<seed> repeats a run.
 */

const RUNS = 40;
const TRANSACTIONS = ['TR0000000001', 'TR0000000002', 'TR0000000003'] as const;

let service: TestService;
let cores: readonly [TestClient, TestClient];
let run = 0;

before(async () => {
  service = await startTestService({ rails: [] });
  cores = [service.core, await service.addClient('second-core', ['feed:write'])];
});
after(() => service?.close());

interface RandomUpdate {
  readonly transaction: number;
  readonly status: 'PROCESS' | 'SUCCESS' | 'FAILED';
  readonly changes: Readonly<Record<string, unknown>>;
  readonly isPartial: boolean;
}

const randomUpdate: fc.Arbitrary<RandomUpdate> = fc.record({
  transaction: fc.nat({ max: TRANSACTIONS.length - 1 }),
  status: fc.constantFrom('PROCESS', 'PROCESS', 'SUCCESS', 'FAILED'),
  changes: fc.oneof(
    { weight: 6, arbitrary: fc.constant({}) },
    { weight: 2, arbitrary: fc.record({ reference_id: fc.constantFrom('one', 'two', 'three') }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Record<string, unknown>>(
        { amount: '9007199254740993.01' },
        { amount: '0.1', fee: '0.2' },
        { description: 'another' },
        { processed_at: '2026-11-21T05:00:00.000Z' },
        { account_number: 'none' },
      ),
    },
  ),
  isPartial: fc.boolean(),
});

/** The updates of one feed, by request. */
const requests = fc.array(fc.array(randomUpdate, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 4 });

test('two concurrent feeds leave the stored transactions consistent, whatever they report', async (t) => {
  const seed = Number(process.env['FC_SEED'] ?? randomInt(2 ** 31));
  t.diagnostic(`seed ${seed}: FC_SEED=${seed} repeats this run`);
  const property = fc.asyncProperty(requests, requests, async (one, other) => {
    // Each run has its own transactions and references, so one database serves all runs and shrinking can replay them.
    run += 1;
    const finals = new Map<string, string>();
    const reports = await Promise.all([feedAll(cores[0], one, finals), feedAll(cores[1], other, finals)]);
    const updates = [...one, ...other].flat();
    await assertConsistent(updates.length, reports.flat(), finals);
  });
  await fc.assert(property, { seed, numRuns: RUNS, endOnFailure: false });
});

const idOf = (transaction: number): string => `${TRANSACTIONS[transaction] ?? ''}${String(run).padStart(6, '0')}`;

function lineOf({ transaction, status, changes, isPartial }: RandomUpdate): string {
  const id = idOf(transaction);
  const reference = changes['reference_id'] ?? TRANSACTIONS[transaction];
  const reason = status === 'FAILED' ? { failure_reason: 'ACCOUNT_INACTIVE' } : {};
  const times = status === 'PROCESS' ? {} : { processed_at: '2026-11-21T04:40:00.000Z' };
  const consistent = status === 'PROCESS' && 'processed_at' in changes ? {} : changes;
  const key = { client_id: 'alpha', transaction_id: id, status, ...reason, ...times, ...consistent };
  const named = { ...key, reference_id: `${JSON.stringify(reference)} ${run}` };
  return JSON.stringify(isPartial ? key : statusUpdate(named));
}

/** Sends one request after the other, and checks after each that no final status seen so far has changed. */
async function feedAll(
  core: TestClient,
  batches: readonly (readonly RandomUpdate[])[],
  finals: Map<string, string>,
): Promise<FeedReport[]> {
  const reports: FeedReport[] = [];
  for (const batch of batches) {
    const body = batch.map(lineOf).join('\n');
    reports.push(reportOf(await post(service, body, { token: core.token })));
    for (const { transaction_id, status, processed_at } of await storedTransactions()) {
      const final = `${status} at ${processed_at?.toISOString() ?? 'no time'}`;
      if (status !== 'PROCESS')
        assert.equal(final, finals.get(transaction_id) ?? (finals.set(transaction_id, final), final));
    }
  }
  return reports;
}

interface StoredTransaction extends Record<string, unknown> {
  readonly transaction_id: string;
  readonly status: string;
  readonly processed_at: Date | null;
  /** As `printed` selects it. */
  readonly printed: string;
  /** The same JSON as PostgreSQL renders it from the typed columns. */
  readonly typed: Record<string, string | null>;
  readonly amount: string;
  readonly fee: string;
}

const storedTransactions = (): Promise<StoredTransaction[]> =>
  service.app.database.query<StoredTransaction>(
    `select transaction_id, status, processed_at, ${printed('t')} as printed, amount::text, fee::text,
            json_build_object('transaction_id', transaction_id, 'reference_id', reference_id, 'status', status,
              'amount', amount::text, 'fee', fee::text, 'total_amount', (amount + fee)::text, 'bank_code', bank_code,
              'bank_name', bank_name, 'account_number', account_number, 'account_name', account_name,
              'description', description,
              'created_at', to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
              'processed_at', to_char(processed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
              'failure_reason', failure_reason) as typed
       from tiba.transactions t where transaction_id = any($1)`,
    [TRANSACTIONS.map((_, transaction) => idOf(transaction))],
  );

async function assertConsistent(
  updates: number,
  reports: readonly FeedReport[],
  finals: ReadonlyMap<string, string>,
): Promise<void> {
  const sum = (count: (report: FeedReport) => number): number =>
    reports.reduce((total, each) => total + count(each), 0);
  const counts = {
    inserted: sum(({ inserted }) => inserted),
    advanced: sum(({ advanced }) => advanced),
    unchanged: sum(({ unchanged }) => unchanged),
    conflict: sum(({ conflicts }) => conflicts.length),
  };
  const rejected = sum(({ rejected }) => rejected.length);
  assert.equal(
    counts.inserted + counts.advanced + counts.unchanged + counts.conflict + rejected,
    updates,
    'counts add up',
  );

  const stored = await storedTransactions();
  assert.equal(stored.length, counts.inserted, 'each transaction was inserted once');
  const recorded = await service.app.database.query<{ outcome: string; count: number }>(
    `select outcome, count(*)::integer as count from tiba.status_updates
      where transaction_id = any($1) and source <> 'clock' group by 1`,
    [TRANSACTIONS.map((_, transaction) => idOf(transaction))],
  );
  const recordedByOutcome = Object.fromEntries(recorded.map(({ outcome, count }) => [outcome, count]));
  assert.deepEqual(
    { inserted: 0, advanced: 0, unchanged: 0, conflict: 0, ...recordedByOutcome },
    counts,
    'every update was recorded',
  );

  for (const { transaction_id, status, printed: text, typed, amount, fee } of stored) {
    const { json } = parsePrinted(text);
    assert.equal(status === 'PROCESS', !finals.has(transaction_id), 'a final status that was seen has not changed');
    assert.equal(withNumbersAsStrings(json), JSON.stringify(typed), 'the rendered JSON agrees with the columns');
    const total = /"total_amount":(\d+)\.(\d\d),/.exec(json);
    const hundredths = (text: string): bigint => BigInt(text.replace('.', ''));
    assert.equal(BigInt(`${total?.[1]}${total?.[2]}`), hundredths(amount) + hundredths(fee));
  }
}

/** JSON of a transaction with its numbers as strings. */
const withNumbersAsStrings = (json: string): string =>
  json.replace(/"(amount|fee|total_amount)":([0-9.]+)/g, '"$1":"$2"');
