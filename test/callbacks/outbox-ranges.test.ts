import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readBacklog } from '../../apps/server/src/postgres/backlog.ts';
import { claimDeliveries, findDueEndpoints } from '../../apps/server/src/postgres/callback-deliveries.ts';
import { findDelivery, listDeliveries } from '../../apps/server/src/postgres/callback-history.ts';
import { listUndelivered } from '../../apps/server/src/postgres/callback-outbox-list.ts';
import { outboxRangesOf, takeOutOfRanges } from '../../apps/server/src/postgres/callback-outbox-ranges.ts';
import type { Database } from '../../apps/server/src/postgres/database.ts';
import { countReplay, replayDelivery, replayRange } from '../../apps/server/src/postgres/delivery-replays.ts';
import { insertEvents } from '../../apps/server/src/postgres/events.ts';
import { scanEvents } from '../../apps/server/src/postgres/retention/events.ts';
import { readHistories } from '../../apps/server/src/postgres/transaction-histories.ts';
import { eventually } from '../support/eventually.ts';
import { type Endpoint, setUpDeliveries } from './delivery-setup.ts';

let setup: Awaited<ReturnType<typeof setUpDeliveries>>;
before(async () => {
  setup = await setUpDeliveries();
});
after(() => setup?.close());

interface Range extends Record<string, unknown> {
  readonly first: number;
  readonly last: number;
}

const rangesOf = ({ endpointId }: Endpoint): Promise<Range[]> =>
  setup.database.query<Range>(
    `select first_sequence::int as first, last_sequence::int as last from tiba.callback_outbox_ranges
      where endpoint_id = $1 order by last_sequence`,
    [endpointId],
  );

async function rowsOf({ endpointId }: Endpoint): Promise<number[]> {
  const rows = await setup.database.query<{ sequence: number }>(
    'select sequence::int from tiba.callback_outbox where endpoint_id = $1 order by sequence',
    [endpointId],
  );
  return rows.map(({ sequence }) => sequence);
}

const claim = (endpoint: Endpoint, limit: number) =>
  claimDeliveries(setup.database, endpoint, { limit, leaseMs: 600_000 });

const numbers = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** An endpoint with ten events in one range, and the numbers of these. */
async function addWithTen(): Promise<{ endpoint: Endpoint; first: number; last: number }> {
  await setup.database.query("update tiba.callback_endpoints set disabled_at = now(), disabled_reason = 'client'");
  const endpoint = await setup.addEndpoint('https://callbacks.example.com/');
  await setup.succeed(10);
  const ranges = await rangesOf(endpoint);
  assert.equal(ranges.length, 1);
  const [{ first, last }] = ranges as [Range];
  assert.equal(last - first + 1, 10);
  return { endpoint, first, last };
}

test('consecutive events share a range of 1,000 at most; one that is not wanted ends it', () => {
  const key = { clientId: 'alpha', endpointId: 'ep_1' };
  const ranges = (sequences: readonly number[]): number[][] =>
    outboxRangesOf(key, sequences).map(({ first, last }) => [first, last]);
  assert.deepEqual(outboxRangesOf(key, [7]), [{ ...key, first: 7, last: 7 }]);
  assert.deepEqual(ranges([]), []);
  assert.deepEqual(ranges([1, 2, 3, 5, 6, 9]), [
    [1, 3],
    [5, 6],
    [9, 9],
  ]);
  assert.deepEqual(ranges(numbers(1, 2_001)), [
    [1, 1_000],
    [1_001, 2_000],
    [2_001, 2_001],
  ]);
});

test('a range has only the kinds that its endpoint wants', async () => {
  await setup.database.query("update tiba.callback_endpoints set disabled_at = now(), disabled_reason = 'client'");
  const endpoint = await setup.addEndpoint('https://callbacks.example.com/', ['bank.up']);
  const kinds = ['bank.up', 'bank.up', 'bank.down', 'bank.up'] as const;
  const events = kinds.map((kind, index) => ({
    clientId: 'alpha',
    subjectId: 'CENAIDJA',
    version: index + 1,
    kind,
    data: '{}',
  }));
  await setup.database.transaction((query) => insertEvents(query, events, new Date().toISOString()));
  const [one, two] = await rangesOf(endpoint);
  assert.deepEqual([(one?.last ?? 0) - (one?.first ?? 0), (two?.last ?? 0) - (two?.first ?? 0)], [1, 0]);
  assert.equal((two?.first ?? 0) - (one?.last ?? 0), 2);
  const claimed = await claim(endpoint, 10);
  assert.deepEqual(
    claimed.map(({ kind, attempt }) => [kind, attempt]),
    [1, 2, 3].map(() => ['bank.up', 1]),
  );
  assert.deepEqual(await rangesOf(endpoint), []);
});

test('a claim takes the first of a range, and leaves the others', async () => {
  const { endpoint, first, last } = await addWithTen();
  assert.ok((await findDueEndpoints(setup.database)).some(({ endpointId }) => endpointId === endpoint.endpointId));
  const claimed = await claim(endpoint, 4);
  assert.deepEqual(
    claimed.map(({ sequence, attempt, attemptOfSchedule }) => [sequence, attempt, attemptOfSchedule]),
    numbers(first, first + 3).map((sequence) => [sequence, 1, 1]),
  );
  assert.deepEqual(await rangesOf(endpoint), [{ first: first + 4, last }]);
  assert.deepEqual(await rowsOf(endpoint), numbers(first, first + 3));
  assert.equal((await claim(endpoint, 20)).length, 6);
  assert.deepEqual(await rangesOf(endpoint), []);
  assert.deepEqual(await claim(endpoint, 20), []);
});

test('concurrent claims never take the same delivery', async () => {
  const { endpoint, first, last } = await addWithTen();
  await setup.succeed(200);
  const sequences: number[] = [];
  while ((await rangesOf(endpoint)).length > 0) {
    for (const claimed of await Promise.all([1, 2, 3, 4].map(() => claim(endpoint, 7)))) {
      sequences.push(...claimed.map(({ sequence }) => sequence));
    }
  }
  assert.deepEqual(
    sequences.sort((one, other) => one - other),
    numbers(first, last + 200),
  );
});

test('a claim of many events that are in ranges of their own takes as many as it may', async () => {
  const { endpoint, first, last } = await addWithTen();
  for (let count = 0; count < 40; count += 1) await setup.succeed(1);
  assert.equal((await rangesOf(endpoint)).length, 41);
  assert.deepEqual(
    (await claim(endpoint, 45)).map(({ sequence }) => sequence),
    numbers(first, first + 44),
  );
  assert.equal((await claim(endpoint, 45)).length, last + 40 - (first + 44));
});

// While one process claims, another must not find that nothing is left.
test('a claim takes later ranges while another process claims from the first ones', async () => {
  const { endpoint } = await addWithTen();
  for (let count = 0; count < 30; count += 1) await setup.succeed(1);
  await setup.database.transaction(async (query) => {
    await query(
      `select from tiba.callback_outbox_ranges where endpoint_id = $1 order by last_sequence limit 16 for update`,
      [endpoint.endpointId],
    );
    assert.equal((await claim(endpoint, 8)).length, 8);
  });
});

test('a retry that was due earlier is claimed before the events of a range, and a later one after them', async () => {
  const { endpoint, first } = await addWithTen();
  await claim(endpoint, 2);
  const dueAt = (sequence: number, interval: string) =>
    setup.database.query(
      `update tiba.callback_outbox set claimed_until = null, next_attempt_at = now() + $3::interval
        where endpoint_id = $1 and sequence = $2`,
      [endpoint.endpointId, sequence, interval],
    );
  await dueAt(first, '-1 hour');
  await dueAt(first + 1, '-1 millisecond');
  await setup.database.query(
    "update tiba.callback_outbox_ranges set due_at = now() - interval '1 minute' where endpoint_id = $1",
    [endpoint.endpointId],
  );
  const claimed = await claim(endpoint, 3);
  assert.deepEqual(
    claimed.map(({ sequence, attempt }) => [sequence, attempt]),
    [
      [first, 2],
      [first + 2, 1],
      [first + 3, 1],
    ],
  );
});

test('lists, look-ups, the archive and the backlog have the deliveries of ranges', async () => {
  const before = await readBacklog(setup.database);
  const { endpoint, first, last } = await addWithTen();
  const { clientId, endpointId } = endpoint;
  await claim(endpoint, 2);
  const filter = { endpointId, state: null, after: null, limit: 6 } as const;
  const page = await listDeliveries(setup.database, clientId, filter);
  assert.deepEqual(
    page.map(({ sequence, state }) => [sequence, state]),
    numbers(last - 5, last)
      .toReversed()
      .map((sequence) => [sequence, 'pending']),
  );
  const after = { sequence: last - 5, endpointId };
  const rest = await listDeliveries(setup.database, clientId, { ...filter, state: 'pending', after });
  assert.deepEqual(
    rest.map(({ sequence, attempts }) => [sequence, attempts]),
    [0, 0, 1, 1].map((attempts, index) => [last - 6 - index, attempts]),
  );
  assert.deepEqual(await listDeliveries(setup.database, clientId, { ...filter, state: 'exhausted' }), []);
  const found = await findDelivery(setup.database, { ...endpoint, sequence: last });
  assert.deepEqual([found?.state, found?.attempts], ['pending', 0]);
  assert.equal(await findDelivery(setup.database, { ...endpoint, sequence: last + 1 }), null);

  const undelivered = await listUndelivered(
    setup.database,
    { clientId, endpointId, state: null },
    { after: { clientId, endpointId, sequence: first + 4 }, limit: 3 },
  );
  assert.deepEqual(
    undelivered.map(({ sequence, state, attempts }) => [sequence, state, attempts]),
    numbers(first + 5, first + 7).map((sequence) => [sequence, 'pending', 0]),
  );
  const [history] = await readHistories(setup.database, clientId, [found?.subjectId ?? '']);
  assert.deepEqual(
    history?.deliveries.filter((each) => each.endpointId === endpointId).map(({ state }) => state),
    ['pending'],
  );
  assert.equal((await readBacklog(setup.database)).deliveriesPending - before.deliveriesPending, 10);
});

test('a replay of one delivery splits its range, and each is claimed once', async () => {
  const { endpoint, first, last } = await addWithTen();
  const replayed = await replayDelivery(setup.database, { ...endpoint, sequence: first + 3 });
  assert.ok(typeof replayed === 'object');
  assert.equal(replayed.state, 'pending');
  assert.deepEqual(await rangesOf(endpoint), [
    { first, last: first + 2 },
    { first: first + 4, last },
  ]);
  assert.deepEqual(await rowsOf(endpoint), [first + 3]);
  const claimed = await claim(endpoint, 20);
  assert.deepEqual(
    claimed.map(({ sequence }) => sequence),
    numbers(first, last),
  );
});

/** Resolves when a statement in the database of these tests waits for a lock. */
const untilOneWaits = (): Promise<unknown> =>
  eventually('a statement that waits for a lock', async () => {
    const waiting = await setup.database.query(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return waiting.length > 0;
  });

// The second replay waited for the first, took nothing out of the range, and gave the delivery a second place. Then
// each claim of the endpoint failed.
test('two replays of deliveries of one range at once leave each delivery in one place', async () => {
  const { endpoint, first, last } = await addWithTen();
  let second: ReturnType<typeof replayDelivery> | undefined;
  await setup.database.transaction(async (query) => {
    await takeOutOfRanges(query, endpoint, { first: first + 2, last: first + 2 });
    second = replayDelivery(setup.database, { ...endpoint, sequence: first + 6 });
    await untilOneWaits();
  });
  const replayed = await second;
  assert.ok(typeof replayed === 'object');
  assert.deepEqual(await rangesOf(endpoint), [
    { first, last: first + 1 },
    { first: first + 3, last: first + 5 },
    { first: first + 7, last },
  ]);
  assert.deepEqual(await rowsOf(endpoint), [first + 2, first + 6]);
  const claimed = await claim(endpoint, 20);
  assert.deepEqual(
    claimed.map(({ sequence }) => sequence),
    numbers(first, last),
  );
});

// It deleted events whose deliveries were in the parts that the replay had written: they could never be sent.
test('the retention of events beside a replay leaves the events of a range that is split', async () => {
  const { endpoint, first, last } = await addWithTen();
  await setup.database.query(
    "update tiba.events set occurred_at = occurred_at - interval '500 days' where client_id = $1",
    [endpoint.clientId],
  );
  let deleted: Promise<number> | undefined;
  await setup.database.transaction(async (query) => {
    await takeOutOfRanges(query, endpoint, { first: first + 2, last: first + 2 });
    deleted = scanEvents(setup.database, 5_000).deleteBatch(new Date(Date.now() - 400 * 86_400_000));
    await untilOneWaits();
  });
  await deleted;
  assert.deepEqual(await rangesOf(endpoint), [{ first: last, last }]);
  const claimed = await claim(endpoint, 20);
  assert.deepEqual(
    claimed.map(({ sequence }) => sequence),
    numbers(first, last),
  );
});

for (const by of ['time', 'sequence'] as const) {
  test(`a replay of a range by ${by} counts and sends the deliveries of ranges once`, async () => {
    const { endpoint, first, last } = await addWithTen();
    const byTime = { by: 'time', from: '2020-01-01T00:00:00.000Z', to: '2099-01-01T00:00:00.000Z' } as const;
    const events = by === 'time' ? byTime : ({ by: 'sequence', first, last: last - 1 } as const);
    const range = { events, state: 'pending', callbackDays: 90, after: first - 1, limit: 4 } as const;
    const counted = await countReplay(setup.database, endpoint, range);
    assert.deepEqual(counted.outcome === 'counted' && counted.sequences, numbers(first, first + 3));
    assert.deepEqual(await rangesOf(endpoint), [{ first, last }]);
    const missing = await countReplay(setup.database, endpoint, { ...range, state: 'missing' });
    assert.deepEqual(missing.outcome === 'counted' && missing.sequences, []);
    const replayed = await replayRange(setup.database, endpoint, range);
    assert.equal(replayed.outcome === 'replayed' && replayed.count, 4);
    assert.deepEqual(await rowsOf(endpoint), numbers(first, first + 3));
    assert.deepEqual(await rangesOf(endpoint), [{ first: first + 4, last }]);
    assert.deepEqual(
      (await claim(endpoint, 20)).map(({ sequence, attempt }) => [sequence, attempt]),
      numbers(first, last).map((sequence) => [sequence, 1]),
    );
  });
}

test('nothing is claimed from a range of a disabled endpoint, until that is enabled', async () => {
  const { endpoint, first, last } = await addWithTen();
  const set = (disabledAt: string): Promise<unknown> =>
    setup.database.query(
      `update tiba.callback_endpoints set disabled_at = ${disabledAt}, disabled_reason = ${
        disabledAt === 'null' ? 'null' : `'client'`
      } where endpoint_id = $1`,
      [endpoint.endpointId],
    );
  await set('now()');
  assert.deepEqual(await claim(endpoint, 20), []);
  assert.deepEqual(
    (await findDueEndpoints(setup.database)).filter(({ endpointId }) => endpointId === endpoint.endpointId),
    [],
  );
  await set('null');
  assert.deepEqual(
    (await claim(endpoint, 20)).map(({ sequence }) => sequence),
    numbers(first, last),
  );
});

/** The rows and entries of ranges that the statements of `work` read. */
async function rangesReadBy(work: (own: Database) => Promise<void>): Promise<number> {
  return setup.database.transaction(async (query) => {
    const own: Database = { ...setup.database, query: async (sql, values) => (await query<never>(sql, values)).rows };
    const countRead = async (): Promise<number> => {
      const { rows } = await query<{ read: number }>(
        `select (pg_stat_get_xact_tuples_returned('tiba.callback_outbox_ranges'::regclass)
                 + pg_stat_get_xact_tuples_returned('tiba.callback_outbox_ranges_pkey'::regclass))::int as read`,
      );
      return rows[0]?.read ?? Number.NaN;
    };
    const before = await countRead();
    await work(own);
    return (await countRead()) - before;
  });
}

test('of many ranges, claims, lists and look-ups read few, also after a vacuum of none', async () => {
  const { endpoint } = await addWithTen();
  await claim(endpoint, 10);
  const { clientId, endpointId } = endpoint;
  await setup.database.query('alter table tiba.callback_outbox_ranges set (autovacuum_enabled = off)');
  await setup.database.query('vacuum tiba.callback_outbox_ranges');
  await setup.database.query(
    `with numbered as (
       update tiba.event_sequences set last_sequence = last_sequence + 3000 where client_id = $1
       returning last_sequence - 3000 as last
     ), happened as (
       insert into tiba.events (client_id, sequence, occurred_at, version, subject_id, kind, data)
       select $1, last + n, now(), 1, 'CENAIDJA', 'bank.up', '{}' from numbered cross join generate_series(1, 3000) n
     )
     insert into tiba.callback_outbox_ranges (client_id, endpoint_id, first_sequence, last_sequence)
     select $1, $2, last + n, last + n from numbered cross join generate_series(1, 3000) n`,
    [clientId, endpointId],
  );
  const latest = (await rangesOf(endpoint)).at(-1)?.last ?? 0;
  const read = await rangesReadBy(async (own) => {
    for (const sequence of numbers(latest - 9, latest)) {
      assert.equal((await findDelivery(own, { clientId, endpointId, sequence }))?.state, 'pending');
    }
    for (let claims = 0; claims < 10; claims += 1) {
      assert.equal((await claimDeliveries(own, endpoint, { limit: 32, leaseMs: 600_000 })).length, 32);
    }
  });
  assert.ok(read < 6_000, `${read} rows and entries of ranges were read`);

  await setup.database.query('analyze tiba.callback_outbox_ranges');
  const listed = await rangesReadBy(async (own) => {
    const list = (after: number | null) =>
      listDeliveries(own, clientId, {
        endpointId,
        state: 'pending',
        after: after === null ? null : { endpointId, sequence: after },
        limit: 20,
      });
    assert.equal((await list(null))[0]?.sequence, latest);
    assert.equal((await list(latest - 1_500))[0]?.sequence, latest - 1_501);
  });
  assert.ok(listed < 3_000, `${listed} rows and entries of ranges were read by lists`);
});
