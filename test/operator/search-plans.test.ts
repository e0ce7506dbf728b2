import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { LIST_SQL } from '../../apps/server/src/postgres/operator-actions.ts';
import { proposalsQuery } from '../../apps/server/src/postgres/operator-proposals.ts';
import { CONFLICTS_SQL, PAID_TO_SQL } from '../../apps/server/src/postgres/personal-data.ts';
import { IN_INDEX_ORDER } from '../../apps/server/src/postgres/transaction-list.ts';
import {
  IDENTIFIERS,
  type SearchFilter,
  type SearchKey,
  searchQuery,
} from '../../apps/server/src/postgres/transaction-search.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startTestService, type TestService } from '../support/service.ts';

/** Every search of the operator uses an index, and reads few rows of it (docs/decisions/0030). */

const ROWS = 20_000;
const CLIENTS = 40;
const SCANNED_MAX = 500;

let database: TestDatabase;
let service: TestService;
let client: pg.Client;

before(async () => {
  database = await createTestDatabase();
  service = await startTestService({ rails: [], database });
  client = new pg.Client({ ...database.connection, options: '-c enable_seqscan=off' });
  await client.connect();
  await client.query(
    `insert into tiba.clients (client_id, name, secret_hash, scopes)
     select 'client-' || n, 'x', '\\x00', '{}' from generate_series(1, $1::integer) as n`,
    [CLIENTS],
  );
  await client.query('set session_replication_role = replica');
  await client.query(
    `insert into tiba.transactions (client_id, transaction_id, reference_id, status, amount, fee, currency, bank_code,
       bank_name, account_number, account_name, description, created_at, processed_at, rendered, expected_by,
       overdue_since, rail, rail_reference, bank_reference, external_id)
     select 'client-' || n % $2 + 1, 'TB' || lpad(n::text, 10, '0'), 'r' || n, status, n % 500 + 1, 0, 'IDR', '014',
            'x', lpad((n % 3000)::text, 10, '0'), 'x', 'x', at, case when status <> 'PROCESS' then at end, '',
            '2099-01-01', case when n % 2000 = 0 then at end, 'bank', 'rail' || n, 'bank' || n, 'ext' || n
       from generate_series(1, $1::integer) as n
      cross join lateral (select timestamptz '2026-11-01' + n * interval '30 seconds' as at,
                                 case when n % 1000 = 0 then 'PROCESS' else 'SUCCESS' end as status) as made`,
    [ROWS, CLIENTS],
  );
  await client.query('vacuum analyze tiba.transactions, tiba.clients');
});
after(async () => {
  await client?.end();
  await service?.close();
  await database?.drop();
});

const NO_FILTER: SearchFilter = {
  clientId: null,
  status: null,
  overdue: null,
  amount: null,
  accountNumbers: null,
  bank: null,
  createdFrom: null,
  createdTo: null,
};

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Scan Direction'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

const ALLOWED = new Set(['Index Scan', 'Tid Scan']);
const LIMIT = 20;

const DAY = { createdFrom: '2026-11-03T00:00:00Z', createdTo: '2026-11-04T00:00:00Z' };
const AFTER = { createdAt: '2026-11-03T12:00:00Z', amount: '100', transactionId: 'TB0000000001', clientId: 'client-1' };
const every = (value: string): SearchKey => ({ by: 'identifier', identifiers: IDENTIFIERS, values: [value] });

const SEARCHES: readonly (readonly [SearchKey, Partial<SearchFilter>, found: number])[] = [
  ...IDENTIFIERS.map(
    (identifier, index) =>
      [
        {
          by: 'identifier',
          identifiers: [identifier],
          values: [`${['TB000000', 'r', 'rail', 'bank', 'ext'][index]}7777`],
        },
        {},
        1,
      ] as const,
  ),
  [every('rail7777'), {}, 1],
  [every('rail7777'), { clientId: 'client-18', status: 'SUCCESS' }, 1],
  [every('none'), {}, 0],
  [{ by: 'account_number', values: ['0000000777'] }, {}, 7],
  [{ by: 'account_number', values: ['0000000777', '999'] }, { amount: '278', overdue: false }, 7],
  [{ by: 'account_number', values: ['0000000777'] }, { clientId: 'client-18' }, 7],
  [{ by: 'account_number', values: ['0000000777'] }, DAY, 1],
  [{ by: 'amount', value: '77' }, DAY, 6],
  [{ by: 'amount', value: '77' }, { ...DAY, clientId: 'client-37' }, 3],
  [{ by: 'time' }, {}, LIMIT],
  [{ by: 'time' }, DAY, LIMIT],
  [{ by: 'time' }, { status: 'SUCCESS' }, LIMIT],
  [{ by: 'time' }, { status: 'PROCESS' }, LIMIT],
  [{ by: 'time' }, { status: 'PROCESS', overdue: false }, 10],
  [{ by: 'time' }, { overdue: true }, 10],
  [{ by: 'time' }, { clientId: 'client-18' }, LIMIT],
  [{ by: 'time' }, { clientId: 'client-1', status: 'PROCESS' }, LIMIT],
  [{ by: 'time' }, { clientId: 'client-1', overdue: true }, 10],
  [{ by: 'time' }, { bank: { codes: ['002'], bic: 'BRINIDJA' }, ...DAY }, 0],
];

for (const [key, filter, found] of SEARCHES) {
  for (const after of [null, AFTER]) {
    const title = `${JSON.stringify(key)} ${JSON.stringify(filter)}${after === null ? '' : ', the next page'}`;
    test(title, async () => {
      const options = { after, limit: LIMIT, scannedMax: SCANNED_MAX };
      const { sql, values } = searchQuery(key, { ...NO_FILTER, ...filter }, options, false);
      await client.query(`begin; ${IN_INDEX_ORDER}`);
      try {
        const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
          `explain (analyze, timing off, format json) ${sql}`,
          [...values],
        );
        const nodes = nodesOf(rows[0]?.['QUERY PLAN'][0].Plan ?? assert.fail('no plan'));
        const scans = nodes.filter((node) => node['Relation Name']?.startsWith('transactions_'));
        assert.ok(scans.length > 0, title);
        let read = 0;
        for (const scan of scans) {
          assert.ok(ALLOWED.has(scan['Node Type']), `${scan['Node Type']} of transactions:\n${sql}`);
          const each = (scan['Actual Rows'] ?? 0) + (scan['Rows Removed by Filter'] ?? 0);
          read += each * (scan['Actual Loops'] ?? 1);
        }
        assert.ok(read <= 2 * SCANNED_MAX, `${read} rows were read`);
        const result = await client.query<{ matches: boolean }>(sql, [...values]);
        const matching = result.rows.filter(({ matches }) => matches).slice(0, LIMIT).length;
        if (after === null) assert.equal(matching, found);
      } finally {
        await client.query('rollback');
      }
    });
  }
}

interface Found {
  readonly matches: boolean;
  readonly position: string;
  readonly transaction_id: string;
}

test('a distributed database gets other statements, which find the same', async () => {
  for (const [key, filter] of SEARCHES) {
    for (const after of [null, AFTER]) {
      const options = { after, limit: LIMIT, scannedMax: SCANNED_MAX };
      const [one, distributed] = await Promise.all(
        [false, true].map(async (isDistributed) => {
          const { sql, values } = searchQuery(key, { ...NO_FILTER, ...filter }, options, isDistributed);
          if (isDistributed) assert.doesNotMatch(sql, /lateral|ctid|union/);
          const { rows } = await client.query<Found>(sql, [...values]);
          return rows.flatMap(({ matches, position, transaction_id: id }) => (matches ? [`${position} ${id}`] : []));
        }),
      );
      assert.deepEqual(distributed, one, `${JSON.stringify(key)} ${JSON.stringify(filter)}`);
    }
  }
});

const explained = async (sql: string, values: readonly unknown[]): Promise<Plan[]> => {
  const { rows } = await client.query<{ 'QUERY PLAN': readonly { readonly Plan: Plan }[] }>(
    `explain (analyze, timing off, format json) ${sql}`,
    [...values],
  );
  return nodesOf(rows[0]?.['QUERY PLAN'][0]?.Plan ?? assert.fail('no plan'));
};

const indexesOf = (nodes: readonly Plan[]): string[] => nodes.flatMap((node) => node['Index Name'] ?? []);

/** What the index finds, without reading others: for each of these, the scan ends where the page is full. */
const EXACT: readonly (readonly [SearchKey, Partial<SearchFilter>, table: string, index: string])[] = [
  [{ by: 'amount', value: '77' }, DAY, 'transactions_final', 'transactions_final_time_slot'],
  [{ by: 'time' }, { overdue: true }, 'transactions_in_process', 'transactions_overdue_created_at'],
  [{ by: 'time' }, { status: 'SUCCESS' }, 'transactions_final', 'transactions_final_time_slot'],
];
const ENDS_WITHIN = 40;

for (const [key, filter, table, index] of EXACT) {
  test(`${JSON.stringify(key)} ${JSON.stringify(filter)} reads only what it finds`, async () => {
    const options = { after: null, limit: 2, scannedMax: SCANNED_MAX };
    const { sql, values } = searchQuery(key, { ...NO_FILTER, ...filter }, options, false);
    await client.query(`begin; ${IN_INDEX_ORDER}`);
    try {
      const nodes = await explained(sql, values);
      assert.ok(indexesOf(nodes).includes(index), indexesOf(nodes).join());
      for (const node of nodes.filter((each) => each['Relation Name'] === table)) {
        assert.equal(node['Rows Removed by Filter'] ?? 0, 0);
        // One more tells whether there are more, and the sort of those with the same time reads some beyond.
        const read = node['Actual Rows'] ?? 0;
        assert.ok(read <= ENDS_WITHIN, `${node['Node Type']}: ${read} rows`);
      }
    } finally {
      await client.query('rollback');
    }
  });
}

test('each state of proposals has its index', async () => {
  await client.query(
    `insert into tiba.operator_proposals (proposal_id, kinds, action, payload, payload_hash, reason, proposer,
       proposer_name, proposer_session, proposer_role, origin, created_at, expires_at, state, decided_by)
     select 'pr_' || n, '{}', '', '{}', '', '', 'x', 'x', 'x', 'x', '', at, at + interval '1 day', state,
            case when state <> 'pending' then 'y' end
       from generate_series(1, 4000) as n
      cross join lateral (select now() - (4000 - n) * interval '30 minutes' as at,
        case when n % 10 = 0 then 'pending' when n % 400 = 7 then 'refused' else 'executed' end as state) as made`,
  );
  await client.query('analyze tiba.operator_proposals');
  const page = { before: null, limit: 200 };
  const inState = ['operator_proposals_state'];
  for (const [state, found, indexes, removed] of [
    ['pending', 5, ['operator_proposals_pending'], 0],
    ['refused', 10, inState, 0],
    ['outdated', 0, inState, 0],
    // In the first one, those that can still be approved come first.
    ['expired', 200, [...inState, 'operator_proposals_pending'], 5],
    [null, 200, ['operator_proposals_created_at'], 0],
  ] as const) {
    const { sql, values } = proposalsQuery({ state, clientId: null }, page);
    const nodes = await explained(sql, values);
    const [index = 'none', ...others] = indexesOf(nodes);
    assert.ok((indexes as readonly string[]).includes(index) && others.length === 0, `${state}: ${index}`);
    assert.equal(nodes[0]?.['Actual Rows'], found, `${state}`);
    for (const node of nodes) assert.ok((node['Rows Removed by Filter'] ?? 0) <= removed, `${state}`);
  }
});

test('the transactions that paid to an account are read from the index of accounts', async () => {
  const account = '0000000777';
  const { rows } = await client.query<{ client_id: string; client_hash: number; created_at: string }>(
    `select client_id, hashtext(client_id) as client_hash, created_at::text from tiba.transactions
      where account_number = $1 order by client_hash, created_at`,
    [account],
  );
  const [first] = rows;
  assert.ok(rows.length > 2 && first !== undefined);
  await client.query(`begin; ${IN_INDEX_ORDER}`);
  try {
    const after = [first.client_hash, first.created_at, first.client_id, '~'];
    const nodes = await explained(PAID_TO_SQL, [account, ...after, 200]);
    assert.ok(nodes.every((node) => node['Node Type'] !== 'Sort'));
    assert.deepEqual(
      indexesOf(nodes).sort(),
      ['final', 'in_process'].map((table) => `transactions_${table}_hashtext_hashtext1_created_at_idx`),
    );
    const final = nodes.find((node) => node['Relation Name'] === 'transactions_final');
    assert.equal(final?.['Actual Rows'], rows.length - 1);
    // The one at the position may be read again.
    assert.ok((final['Rows Removed by Filter'] ?? 0) <= 1);
  } finally {
    await client.query('rollback');
  }
});

test('the transactions with conflicts are read from the index of conflicts', async () => {
  await client.query(
    `insert into tiba.other_status_updates (client_id, transaction_id, status_update_id, outcome)
     select 'client-1', 'TB' || lpad(n::text, 10, '0'), n, case when n % 500 = 0 then 'conflict' else 'unchanged' end
       from generate_series(1, 5000) as n`,
  );
  await client.query('analyze tiba.other_status_updates');
  const { rows } = await client.query<{ 'QUERY PLAN': readonly { readonly Plan: Plan }[] }>(
    `explain (analyze, format json) ${CONFLICTS_SQL}`,
    ['client-1', 'TB0000002000', 200],
  );
  const plan = rows[0]?.['QUERY PLAN'][0]?.Plan;
  const scans = nodesOf(plan ?? { 'Node Type': 'none' }).filter((node) => node['Relation Name'] !== undefined);
  assert.deepEqual(
    scans.map((node) => [node['Index Name'], node['Actual Rows'], node['Rows Removed by Filter'] ?? 0]),
    [['other_status_updates_conflicts', 6, 0]],
  );
});

test('each filter of the record of actions has its index', async () => {
  await client.query('alter table tiba.operator_actions disable trigger user');
  await client.query(
    `insert into tiba.operator_actions (sequence, happened_at, actor, origin, action, client_id, subject_id,
       previous_hash, hash)
     select n, now(), 'actor ' || n % 500, '', 'action ' || n % 500, 'client-' || n % 500, 'subject ' || n % 500, '', ''
       from generate_series(1, 5000) as n`,
  );
  await client.query('analyze tiba.operator_actions');
  for (const [index, name] of ['actor', 'action', 'client_id', 'subject_id'].entries()) {
    const values = ['actor 77', 'action 77', 'client-77', 'subject 77'].map((each, at) => (at === index ? each : null));
    const { rows } = await client.query<{ 'QUERY PLAN': readonly { readonly Plan: Plan }[] }>(
      `explain (analyze, format json) ${LIST_SQL}`,
      [...values, null, null, null, 200],
    );
    const plan = rows[0]?.['QUERY PLAN'][0]?.Plan;
    const nodes = nodesOf(plan ?? assert.fail('no plan'));
    assert.deepEqual(
      nodes.flatMap((node) => node['Index Name'] ?? []),
      [`operator_actions_${name}`],
    );
    for (const node of nodes) assert.equal(node['Rows Removed by Filter'] ?? 0, 0);
  }
});
