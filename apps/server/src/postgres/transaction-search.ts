import { STATUSES, type Status, type Transaction } from '../domain/transaction.ts';
import type { Database } from './database.ts';
import { type BankFilter, bankConditions, IN_INDEX_ORDER, isAccount, isOf, isStatus } from './transaction-list.ts';
import { TRANSACTION_COLUMNS, type TransactionRow, toTransaction } from './transactions.ts';

/** The identifiers of a transaction: Tiba's, the client's, the rail's, the bank's, and X-EXTERNAL-ID of the order. */
export const IDENTIFIERS = [
  'transaction_id',
  'reference_id',
  'rail_reference',
  'bank_reference',
  'external_id',
] as const;
export type Identifier = (typeof IDENTIFIERS)[number];

/** What a search over all clients begins with: the index that it reads. */
export type SearchKey =
  /** Any of these identifiers is one of these values. */
  | { readonly by: 'identifier'; readonly identifiers: readonly Identifier[]; readonly values: readonly string[] }
  /** Any of the forms of one account number. */
  | { readonly by: 'account_number'; readonly values: readonly string[] }
  /** An exact decimal, as text. The filter has `createdFrom` and `createdTo`. */
  | { readonly by: 'amount'; readonly value: string }
  /** The newest transactions. */
  | { readonly by: 'time' };

/** Further conditions; null where one is not given. Times are ISO 8601 UTC. */
export interface SearchFilter {
  readonly clientId: string | null;
  readonly status: Status | null;
  /** True: in PROCESS and later than its bank was expected to take. False: all others. */
  readonly overdue: boolean | null;
  /** An exact decimal, as text. */
  readonly amount: string | null;
  readonly accountNumbers: readonly string[] | null;
  readonly bank: BankFilter | null;
  /** From this time on. */
  readonly createdFrom: string | null;
  /** Before this time. */
  readonly createdTo: string | null;
}

/** The place of a transaction in the order of a search. None of these ever changes. */
export interface SearchPosition {
  /** ISO 8601 UTC, with microseconds. */
  readonly createdAt: string;
  readonly amount: string;
  readonly transactionId: string;
  readonly clientId: string;
}

export interface SearchPage {
  readonly transactions: readonly Transaction[];
  /** Where the next page starts; null when there is no more. */
  readonly next: SearchPosition | null;
}

export interface SearchOptions {
  /** The end of the previous page; null for the first page. */
  readonly after: SearchPosition | null;
  readonly limit: number;
  /** Smaller in tests that have few transactions. */
  readonly scannedMax?: number;
}

/**
 * How many transactions one page reads from its index (docs/decisions/0030): conditions that the index does not answer
 * are checked for these only, and a page that finds too few ends early. The next one continues there.
 */
const SCANNED_MAX = 5_000;

const ORDER = 'order by created_at desc, amount desc, transaction_id desc, client_id desc';
/** The same order, for the index of final transactions, which has slots of ten seconds. */
const BY_SLOT = ORDER.replace('order by', 'order by created_slot desc,');

/** One page of the transactions of all clients, the newest first. */
export async function searchTransactions(
  database: Database,
  key: SearchKey,
  filter: SearchFilter,
  options: SearchOptions,
): Promise<SearchPage> {
  const { limit, scannedMax = SCANNED_MAX } = options;
  const windows = key.by === 'amount' ? windowsOf(filter, options.after) : [filter.createdFrom];
  return database.transaction(async (query) => {
    await query(IN_INDEX_ORDER);
    const found: SearchRow[] = [];
    let { after } = options;
    for (const createdFrom of windows) {
      const left = { after, limit: limit - found.length, scannedMax };
      const { sql, values } = searchQuery(key, { ...filter, createdFrom }, left, database.distributed);
      const { rows } = await query<SearchRow>(sql, values);
      found.push(...rows.filter(({ matches }) => matches));
      // More were found, or the last row is the last one that was read, whether it matches or not.
      const last = found.length > limit ? found[limit - 1] : rows.find(({ scanned }) => scanned === scannedMax);
      if (last !== undefined) return { transactions: found.slice(0, limit).map(toTransaction), next: positionOf(last) };
      after = createdFrom === null ? null : startOf(createdFrom);
    }
    const isAll = windows.at(-1) === filter.createdFrom;
    return { transactions: found.map(toTransaction), next: isAll ? null : after };
  });
}

const HOUR_MS = 60 * 60 * 1_000;
/**
 * A search for an amount probes its index for each slot of ten seconds, so a page has a week. An amount that many
 * transactions have fills it with those of the last hours.
 */
const WINDOWS_MS = [HOUR_MS, 12 * HOUR_MS, 7 * 24 * HOUR_MS];

/** Where the windows begin, the latest first. Each ends where the one before it begins. */
function windowsOf({ createdFrom, createdTo }: SearchFilter, after: SearchPosition | null): string[] {
  const end = after?.createdAt ?? createdTo;
  if (createdFrom === null || end === null) throw new Error('a search for an amount has no range of time');
  const later = WINDOWS_MS.map((ms) => new Date(Date.parse(end) - ms).toISOString());
  const inRange = later.filter((from) => Date.parse(from) > Date.parse(createdFrom));
  return inRange.length === later.length ? inRange : [...inRange, createdFrom];
}

/** Before all that was created then. */
const startOf = (createdAt: string): SearchPosition => ({ createdAt, amount: '0', transactionId: '', clientId: '' });

interface SearchRow extends TransactionRow {
  position: string;
  matches: boolean;
  scanned: number;
}

const positionOf = (row: SearchRow): SearchPosition => ({
  createdAt: row.position,
  amount: row.amount,
  transactionId: row.transaction_id,
  clientId: row.client_id,
});

/** The statement of a search, with its parameters. Exported for the test of its plans. */
export function searchQuery(
  key: SearchKey,
  filter: SearchFilter,
  { after, limit, scannedMax }: Required<SearchOptions>,
  distributed: boolean,
): { readonly sql: string; readonly values: readonly unknown[] } {
  const values: unknown[] = [];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const range = rangeOf(filter, after, parameter);
  const further = furtherConditions(key, filter, parameter);
  // Without further conditions each row that is read is a result.
  const readMax = parameter(further.length === 0 ? Math.min(limit + 1, scannedMax) : scannedMax);
  const findSource = distributed ? sourceOverNodes : sourceOf;
  const source = findSource(key, filter, { ...range, readMax, parameter });
  const matches = further.length === 0 ? 'true' : `(${further.join(' and ')})`;
  // Exact: a position that was rounded would skip transactions.
  const position = `to_char(t.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
  // That of the source, so that PostgreSQL stops where the page is full.
  const order = isNewest(key, filter) ? BY_SLOT : ORDER;
  const sql = `
    select ${TRANSACTION_COLUMNS}, ${position} as position, t.matches, t.scanned
      from (select t.*, ${matches} as matches, row_number() over (${order})::integer as scanned
              from (select * from (${source}) as indexed ${order} limit ${readMax}) as t) as t
     where t.matches or t.scanned = ${parameter(scannedMax)}
     ${order.replaceAll(/(\w+) desc/g, 't.$1 desc')} limit ${parameter(limit + 1)}`;
  return { sql, values };
}

interface Range {
  /** Parameters: the first and the last time that a result may have; null where there is none. */
  readonly first: string | null;
  readonly last: string | null;
  /** Exact conditions. */
  readonly time: readonly string[];
}

function rangeOf(
  { createdFrom, createdTo }: SearchFilter,
  after: SearchPosition | null,
  parameter: (value: unknown) => string,
): Range {
  const instant = (value: string | null): string | null => (value === null ? null : `${parameter(value)}::timestamptz`);
  const [first, end, start] = [instant(createdFrom), instant(createdTo), instant(after?.createdAt ?? null)];
  const time: string[] = [];
  if (first !== null) time.push(`t.created_at >= ${first}`);
  if (end !== null) time.push(`t.created_at < ${end}`);
  if (after !== null) {
    const position = [`${parameter(after.amount)}::numeric`, parameter(after.transactionId), parameter(after.clientId)];
    time.push(`(t.created_at, t.amount, t.transaction_id, t.client_id) < (${start}, ${position.join(', ')})`);
  }
  return { first, last: start ?? end, time };
}

const OWN = 't.client_id = c.client_id collate "C"';
const OVERDUE = "t.status = 'PROCESS' and t.overdue_since is not null";

/** What is checked for each row that the index finds. */
function furtherConditions(key: SearchKey, filter: SearchFilter, parameter: (value: unknown) => string): string[] {
  const { clientId, status, overdue, amount, accountNumbers } = filter;
  const isList = key.by === 'time';
  const hasScansOfClients = isList || key.by === 'account_number';
  return [
    ...(clientId === null || hasScansOfClients ? [] : [`t.client_id = ${parameter(clientId)}`]),
    ...(status === null || (isList && (status === 'PROCESS' || (clientId !== null && overdue !== true)))
      ? []
      : [`t.status = ${parameter(status)}`]),
    ...(overdue === null || (overdue && isList) ? [] : [overdue ? OVERDUE : `not (${OVERDUE})`]),
    ...(amount === null ? [] : [`t.amount = ${parameter(amount)}::numeric`]),
    ...(accountNumbers === null ? [] : [`t.account_number = any (${parameter(accountNumbers)}::text[])`]),
    ...bankConditions(filter, parameter),
  ];
}

interface Source extends Range {
  /** How many rows to read at most. */
  readonly readMax: string;
  readonly parameter: (value: unknown) => string;
}

/** SQL, as the index has it. */
const isAnyAccount = (values: string): string =>
  `hashtext(t.account_number) = any (array(select hashtext(item) from unnest(${values}::text[]) as n (item)))
   and t.account_number = any (${values}::text[])`;

/** The rows of the index that the search begins with. */
function sourceOf(key: SearchKey, filter: SearchFilter, source: Source): string {
  const { clientId, status, overdue } = filter;
  const { parameter } = source;
  const scan = (conditions: readonly string[]): string =>
    `select ${COLUMNS} from tiba.transactions t ${restOf(source, conditions, ORDER)}`;
  // One scan for each combination, each in the order of the index, which are then merged.
  const scans = (lists: readonly string[], conditions: readonly string[]): string =>
    `select own.* from ${lists.join(' cross join ')} cross join lateral (${scan(conditions)}) as own`;
  const list = (items: readonly string[], name: string): string => `unnest(${parameter(items)}::text[]) as ${name}`;
  const clients = (): string => (clientId === null ? 'tiba.clients c' : list([clientId], 'c (client_id)'));
  switch (key.by) {
    case 'identifier':
      return identifierSource(key, source);
    case 'account_number':
      return scans([list(key.values, 'n (item)'), clients()], [isOf('c.client_id'), isAccount('n.item')]);
    case 'amount':
      return amountSource(key, source);
    case 'time':
      // These have an index over all clients, and one by client.
      if (overdue === true) return clientId === null ? scan([OVERDUE]) : scans([clients()], [OWN, OVERDUE]);
      if (isNewest(key, filter)) return newestSource(status, source);
      return (status === null ? STATUSES : [status])
        .map((each) => `(${scans([clients()], [isOf('c.client_id'), isStatus(each)])})`)
        .join(' union all ');
  }
}

/**
 * The same on a distributed PostgreSQL: one scan, which Citus sends to all nodes with its order and its limit. It takes
 * neither scans that depend on other rows nor places of rows.
 */
function sourceOverNodes(key: SearchKey, filter: SearchFilter, source: Source): string {
  const { clientId, status, overdue } = filter;
  const { parameter } = source;
  const conditions = [
    ...keyConditions(key, source),
    ...(clientId === null ? [] : [isOf(parameter(clientId))]),
    ...(status === null ? [] : [isStatus(status)]),
    ...(overdue === true ? [OVERDUE] : []),
  ];
  const rest = isNewest(key, filter)
    ? restOf(source, [...conditions, ...slotsOf(source)], BY_SLOT)
    : restOf(source, conditions, ORDER);
  return `select ${COLUMNS} from tiba.transactions t ${rest}`;
}

function keyConditions(key: SearchKey, source: Source): string[] {
  const { parameter } = source;
  switch (key.by) {
    case 'identifier':
      return [`(${identifierConditions(key, parameter).join(' or ')})`];
    case 'account_number':
      return [isAnyAccount(parameter(key.values))];
    case 'amount':
      return amountConditions(amountOf(key, source), source);
    case 'time':
      return [];
  }
}

type KeyOfAmount = Extract<SearchKey, { by: 'amount' }>;

const amountOf = ({ value }: KeyOfAmount, { parameter }: Source): string => `${parameter(value)}::numeric`;

/** SQL: the index of final transactions by time has slots of ten seconds, and beside them the hash of the amount. */
const SLOT = 'tiba.time_slot(t.created_at)';

function slotsOf({ first, last }: Range): string[] {
  return [
    ...(first === null ? [] : [`${SLOT} >= tiba.time_slot(${first})`]),
    ...(last === null ? [] : [`${SLOT} <= tiba.time_slot(${last})`]),
  ];
}

const COLUMNS = `t.*, ${SLOT} as created_slot`;

const restOf = ({ time, readMax }: Source, conditions: readonly string[], order: string): string =>
  `where ${[...conditions, ...time, 'true'].join(' and ')} ${order} limit ${readMax}`;

/** The newest of all clients. The final ones of one slot are sorted. */
function newestSource(status: Status | null, source: Source): string {
  const inProcess = `select ${COLUMNS} from tiba.transactions_in_process t ${restOf(source, [], ORDER)}`;
  const final = `select ${COLUMNS} from tiba.transactions_final t ${restOf(source, slotsOf(source), BY_SLOT)}`;
  if (status === null) return `(${inProcess}) union all (${final})`;
  return status === 'PROCESS' ? inProcess : final;
}

/** Whether the indexes of times over all clients are read. */
const isNewest = (key: SearchKey, { clientId, overdue }: SearchFilter): boolean =>
  key.by === 'time' && clientId === null && overdue !== true;

/** Of final transactions the index is probed for each slot of the range. Those in PROCESS are few. */
function amountSource(key: KeyOfAmount, source: Source): string {
  const amount = amountOf(key, source);
  const inProcessRest = restOf(source, [`t.amount = ${amount}`], ORDER);
  const finalRest = restOf(source, amountConditions(amount, source), BY_SLOT);
  const inProcess = `select ${COLUMNS} from tiba.transactions_in_process t ${inProcessRest}`;
  const final = `select ${COLUMNS} from tiba.transactions_final t ${finalRest}`;
  return `(${inProcess}) union all (${final})`;
}

/** The first two are those of the index. */
function amountConditions(amount: string, { first, last }: Pick<Range, 'first' | 'last'>): string[] {
  const slots = `array(select generate_series(tiba.time_slot(${first}), tiba.time_slot(${last})))`;
  return [`${SLOT} = any (${slots})`, `hash_numeric(t.amount) = hash_numeric(${amount})`, `t.amount = ${amount}`];
}

/**
 * One scan for each identifier: a row is read once, also where several of its identifiers match. `offset 0` keeps the
 * planner from reading all rows in the order of the result instead.
 */
function identifierSource(key: KeyOfIdentifiers, { time, parameter }: Source): string {
  const conditions = identifierConditions(key, parameter);
  // Each of the tables has places of its own.
  const sources = TABLES.map((name) => {
    const scans = conditions.map((condition) => `(select ctid from ${name} where ${condition} limit ${SCANNED_MAX})`);
    return `(select t.* from ${name} t
     where ${[`t.ctid = any (array(${[...new Set(scans)].join(' union ')}))`, ...time].join(' and ')} offset 0)`;
  });
  return sources.join(' union all ');
}

type KeyOfIdentifiers = Extract<SearchKey, { by: 'identifier' }>;

function identifierConditions(
  { identifiers, values }: KeyOfIdentifiers,
  parameter: (value: unknown) => string,
): string[] {
  const wanted = `any (${parameter(values)}::text[])`;
  return identifiers.flatMap((identifier) =>
    CONDITIONS[identifier].map((condition) => condition.replace('$', () => wanted)),
  );
}

const TABLES = ['tiba.transactions_in_process', 'tiba.transactions_final'];

/** A rail reference that is another identifier of its transaction is not in the index of rail references. */
const CONDITIONS: Readonly<Record<Identifier, readonly string[]>> = {
  transaction_id: ['transaction_id = $'],
  reference_id: ['reference_id = $'],
  rail_reference: [
    'rail_reference = $ and rail_reference <> transaction_id and rail_reference <> reference_id',
    'transaction_id = $ and rail_reference = transaction_id',
    'reference_id = $ and rail_reference = reference_id',
  ],
  bank_reference: ['bank_reference = $'],
  external_id: ['external_id = $'],
};
