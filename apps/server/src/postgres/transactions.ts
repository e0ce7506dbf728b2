import { isFinal, type Status, type Transaction } from '../domain/transaction.ts';
import {
  arrayFromParameter,
  arrayFromText,
  tableFromParameters,
  toArrayParameter,
  toColumnParameters,
} from './bulk-parameters.ts';
import { copyRow, copySql } from './copy.ts';
import type { Database, Query } from './database.ts';
import { ofClient, queryOverClients } from './distributed/one-client.ts';
import { insertTransactionsOf } from './distributed/transactions.ts';
import { endedColumn, renderedColumn } from './rendered-transactions.ts';

export interface TransactionKey {
  readonly clientId: string;
  readonly transactionId: string;
}

export interface TransactionRow extends Record<string, unknown> {
  client_id: string;
  transaction_id: string;
  reference_id: string;
  status: Status;
  amount: string;
  fee: string;
  currency: string;
  bank_code: string;
  bank_name: string;
  account_number: string;
  account_name: string;
  description: string;
  created_at: Date;
  processed_at: Date | null;
  failure_reason: string | null;
  version: number;
  rail: string | null;
  rail_reference: string | null;
  reversed_at: Date | null;
  source_account_number: string | null;
  service_code: string | null;
  external_id: string | null;
  bank_reference: string | null;
  expected_by: Date | null;
  overdue_since: Date | null;
}

/** Columns of a transaction `t`. */
// Amounts as text: PostgreSQL's decimals are exact, and JavaScript's numbers are not.
export const TRANSACTION_COLUMNS = `t.client_id, t.transaction_id, t.reference_id, t.status, t.amount::text,
            t.fee::text, t.currency, t.bank_code, t.bank_name, t.account_number, t.account_name, t.description,
            t.created_at, t.processed_at, t.failure_reason, t.version, t.rail, t.rail_reference, t.reversed_at,
            t.source_account_number, t.service_code, t.external_id, t.bank_reference, t.expected_by, t.overdue_since`;

/**
 * Transactions in PROCESS that were expected to be final by `now` and are not marked overdue yet, the earliest first.
 */
export async function findNewlyOverdue(query: Query, now: string, limit: number): Promise<TransactionKey[]> {
  const { rows } = await query<KeyRow>(NEWLY_OVERDUE_SQL, [now, limit]);
  return rows.map(toKey);
}

/** The same of a distributed database, without a database transaction and without an order while a node is away. */
export async function findNewlyOverdueOverClients(
  database: Database,
  now: string,
  limit: number,
): Promise<TransactionKey[]> {
  return (await queryOverClients<KeyRow>(database, NEWLY_OVERDUE_SQL, [now, limit])).slice(0, limit).map(toKey);
}

interface KeyRow extends Record<string, unknown> {
  client_id: string;
  transaction_id: string;
}

const toKey = (row: KeyRow): TransactionKey => ({ clientId: row.client_id, transactionId: row.transaction_id });

const NEWLY_OVERDUE_SQL = `
select t.client_id, t.transaction_id from tiba.transactions t
 where t.status = 'PROCESS' and t.overdue_since is null and t.expected_by <= $1 ${ofClient('t')}
 order by t.expected_by limit $2`;

/** Transactions in PROCESS that are overdue, the longest first. Reads across clients, for the operator. */
export async function listOverdue(database: Database, limit: number): Promise<Transaction[]> {
  const rows = await database.query<TransactionRow>(
    `select ${TRANSACTION_COLUMNS} from tiba.transactions t
      where t.status = 'PROCESS' and t.overdue_since is not null order by t.overdue_since limit $1`,
    [limit],
  );
  return rows.map(toTransaction);
}

/** Finds the transactions that have these reference IDs. */
export async function findTransactionsByReference(
  query: Query,
  references: readonly { readonly clientId: string; readonly referenceId: string }[],
): Promise<(TransactionKey & { readonly referenceId: string })[]> {
  const { rows } = await query<{ client_id: string; transaction_id: string; reference_id: string }>(
    // A look-up for each reference: a join may read all transactions instead.
    `select own.client_id, own.transaction_id, own.reference_id
       from unnest($1::text[], $2::text[]) as k (client_id, reference_id)
      cross join lateral (
        select t.client_id, t.transaction_id, t.reference_id from tiba.transactions t
         where t.client_id = k.client_id collate "POSIX" and t.reference_id = k.reference_id collate "C"
               ${ofClient('t')}
         limit 1) as own`,
    [references.map((each) => each.clientId), references.map((each) => each.referenceId)],
    'find-transactions-by-reference',
  );
  return rows.map((row) => ({
    clientId: row.client_id,
    transactionId: row.transaction_id,
    referenceId: row.reference_id,
  }));
}

const COMMON_COLUMNS = [
  'client_id',
  'transaction_id',
  'reference_id',
  'status',
  'amount',
  'fee',
  'currency',
  'bank_code',
  'bank_name',
  'account_number',
  'account_name',
  'description',
  'created_at',
  'version',
  'rendered',
  'inserted_by',
] as const;

/** What a transaction has in PROCESS only. */
const PROCESS_COLUMNS = ['expected_by'] as const;

/** What it has only when it is final. */
const FINAL_COLUMNS = ['processed_at', 'advanced_by'] as const;

/** What most transactions do not have. */
const RARE_COLUMNS = [
  'failure_reason',
  'reversed_at',
  'overdue_since',
  'rail',
  'rail_reference',
  'source_account_number',
  'service_code',
  'external_id',
  'bank_reference',
] as const;

/** Columns that are not named are null, which costs less than a value that says so. */
const copyTransactionsSql = (table: string, columns: readonly string[]) => ({
  plain: copySql(table, columns),
  withRare: copySql(table, [...columns, ...RARE_COLUMNS]),
});

const COPY_NEW_SQL = copyTransactionsSql('tiba.transactions_in_process', [...COMMON_COLUMNS, ...PROCESS_COLUMNS]);
const COPY_FINAL_SQL = copyTransactionsSql('tiba.transactions_final', [...COMMON_COLUMNS, ...FINAL_COLUMNS]);

/** The status updates that a transaction itself names. */
export interface AppliedUpdateIds {
  /** In decimal digits, as is the other. null: `tiba.other_status_updates` has it, or there was none. */
  readonly insertedBy: string | null;
  readonly advancedBy: string | null;
}

/** A transaction as it is to be stored. */
export interface TransactionToStore extends AppliedUpdateIds {
  readonly transaction: Transaction;
}

/** A transaction that becomes final. */
export interface TransactionToEnd extends TransactionToStore {
  /** As it is in transactions_in_process, but for `expectedBy`. */
  readonly before: Transaction;
}

/** SQLSTATE unique_violation. */
const DUPLICATE = '23505';

/**
 * Inserts new transactions. Returns false when one of them is stored already, or one with the same reference ID. The
 * decision is out of date then, and PostgreSQL may have ended the database transaction: roll back, and decide again.
 *
 * PostgreSQL's unique keys hold within each of the two tables. What keeps a transaction, or a reference ID, from being
 * in both: each is inserted into transactions_in_process first, where its key waits for any other database transaction
 * that inserts it or moves it away. What was moved away is committed then, so the look at transactions_final finds it.
 */
export async function insertTransactions(query: Query, toStore: readonly TransactionToStore[]): Promise<boolean> {
  if (toStore.length === 0) return true;
  const toEnd: TransactionToEnd[] = [];
  const inProcess = toStore.map((each) => {
    if (!isFinal(each.transaction.status)) return each;
    const before = beforeItsEnd(each.transaction);
    toEnd.push({ ...each, before });
    return { ...each, transaction: before };
  });
  if (query.distributed === true) {
    const columns = [...COMMON_COLUMNS, ...PROCESS_COLUMNS, ...RARE_COLUMNS];
    const values = inProcess.map((each) => [...newValues(each), ...rareValues(each)]);
    if (!(await insertTransactionsOf(query, columns, values))) return false;
  } else if (!(await copyTransactions(query, inProcess))) return false;
  return !(await existFinal(query, toStore)) && (await endTransactions(query, toEnd));
}

/** What a new transaction that is final already is for a moment. */
const beforeItsEnd = (transaction: Transaction): Transaction => ({
  ...transaction,
  status: 'PROCESS',
  processedAt: null,
  failureReason: null,
  reversedAt: null,
  overdueSince: null,
  // Each row in PROCESS has one.
  expectedBy: transaction.expectedBy ?? transaction.createdAt,
});

async function copyTransactions(query: Query, toStore: readonly TransactionToStore[]): Promise<boolean> {
  try {
    await copyTransactionRows(query, COPY_NEW_SQL, inKeyOrder(toStore), newValues);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === DUPLICATE) return false;
    throw error;
  }
}

/** `valuesOf`: those of the columns that are not rare. */
async function copyTransactionRows<Stored extends TransactionToStore>(
  query: Query,
  sql: ReturnType<typeof copyTransactionsSql>,
  toStore: readonly Stored[],
  valuesOf: (each: Stored) => (string | null)[],
): Promise<void> {
  if (toStore.some(hasRareValues)) {
    await query.copy(sql.withRare, toStore.map((each) => copyRow([...valuesOf(each), ...rareValues(each)])).join(''));
  } else await query.copy(sql.plain, toStore.map((each) => copyRow(valuesOf(each))).join(''));
}

function byKey({ transaction: one }: TransactionToStore, { transaction: other }: TransactionToStore): number {
  if (one.transactionId !== other.transactionId) return one.transactionId < other.transactionId ? -1 : 1;
  return one.clientId < other.clientId ? -1 : 1;
}

/** So that two feeds with the same transactions cannot deadlock, as with locks. */
const inKeyOrder = <Stored extends TransactionToStore>(toStore: readonly Stored[]): readonly Stored[] =>
  isInKeyOrder(toStore) ? toStore : toStore.toSorted(byKey);

const isInKeyOrder = (toStore: readonly TransactionToStore[]): boolean =>
  toStore.every((each, index) => {
    const next = toStore[index + 1];
    return next === undefined || byKey(each, next) < 0;
  });

/** A row of transactions_in_process. */
function newValues({ transaction, insertedBy }: TransactionToStore): (string | null)[] {
  const values = commonValues(transaction, renderedColumn(transaction), insertedBy);
  values.push(transaction.expectedBy);
  return values;
}

interface EndedTransaction extends TransactionToStore {
  /** The column `rendered`, before its end. */
  readonly rendered: string;
}

/** A row of transactions_final. */
function finalValues({ transaction, insertedBy, advancedBy, rendered }: EndedTransaction): (string | null)[] {
  const values = commonValues(transaction, endedColumn(rendered, transaction), insertedBy);
  values.push(transaction.processedAt, advancedBy);
  return values;
}

const commonValues = (transaction: Transaction, rendered: string, insertedBy: string | null): (string | null)[] => [
  transaction.clientId,
  transaction.transactionId,
  transaction.referenceId,
  transaction.status,
  transaction.amount,
  transaction.fee,
  transaction.currency,
  transaction.bankCode,
  transaction.bankName,
  transaction.accountNumber,
  transaction.accountName,
  transaction.description,
  transaction.createdAt,
  String(transaction.version),
  rendered,
  insertedBy,
];

const rareValues = ({ transaction }: TransactionToStore): (string | null)[] => [
  transaction.failureReason,
  transaction.reversedAt,
  transaction.overdueSince,
  transaction.rail,
  transaction.railReference,
  transaction.sourceAccountNumber,
  transaction.serviceCode,
  transaction.externalId,
  transaction.bankReference,
];

const hasRareValues = ({ transaction }: TransactionToStore): boolean =>
  transaction.failureReason !== null ||
  transaction.reversedAt !== null ||
  transaction.overdueSince !== null ||
  transaction.rail !== null ||
  transaction.sourceAccountNumber !== null ||
  transaction.serviceCode !== null ||
  transaction.externalId !== null ||
  transaction.bankReference !== null;

/** Whether a final transaction has one of these transaction IDs or reference IDs. */
async function existFinal(query: Query, toStore: readonly TransactionToStore[]): Promise<boolean> {
  const byClient = Map.groupBy(toStore, ({ transaction }) => transaction.clientId);
  const rows = Array.from(byClient, ([clientId, own]) => ({ clientId, own }));
  const { rowCount } = await query(
    EXIST_FINAL_SQL,
    [
      rows.map(({ clientId }) => clientId),
      rows.map(({ own }) => toArrayParameter(own.map(({ transaction }) => transaction.transactionId))),
      rows.map(({ own }) => toArrayParameter(own.map(({ transaction }) => transaction.referenceId))),
    ],
    'exist-final-transactions',
  );
  return rowCount !== 0;
}

// All IDs of a client in one scan of the index, which costs less than a scan for each. With `exists`, and with joins,
// PostgreSQL may choose to read all final transactions instead.
const EXIST_FINAL_SQL = `
select from unnest($1::text[], $2::text[], $3::text[]) as k (client_id, transaction_ids, reference_ids)
 where coalesce(
   (select true from tiba.transactions_final t
     where t.client_id = k.client_id collate "C"
       and t.transaction_id = any (${arrayFromText('k.transaction_ids')} collate "C") ${ofClient('t')} limit 1),
   (select true from tiba.transactions_final t
     where t.client_id = k.client_id collate "POSIX"
       and t.reference_id = any (${arrayFromText('k.reference_ids')} collate "C") ${ofClient('t')} limit 1))
 limit 1`;

const END_COLUMNS = ['client_id', 'transaction_id', 'stored'] as const;

/** What a row of transactions_in_process must still be when it is deleted: all that a decision is made of. */
const STORED = `concat_ws(E'\\x02', t.version, t.rendered, t.reference_id, t.currency, t.bank_code, t.bank_name,
            t.account_number, t.account_name, t.description, coalesce(t.rail, ''), coalesce(t.rail_reference, ''),
            coalesce(t.source_account_number, ''), coalesce(t.service_code, ''), coalesce(t.external_id, ''),
            coalesce(t.bank_reference, ''), t.overdue_since is null)`;

const storedText = (before: Transaction, rendered: string): string =>
  [
    before.version,
    rendered,
    before.referenceId,
    before.currency,
    before.bankCode,
    before.bankName,
    before.accountNumber,
    before.accountName,
    before.description,
    before.rail,
    before.railReference,
    before.sourceAccountNumber,
    before.serviceCode,
    before.externalId,
    before.bankReference,
    // As PostgreSQL writes it.
    before.overdueSince === null ? 't' : 'f',
  ].join('\u0002');

/** What an update may change. */
const CHANGING_COLUMNS = [
  'client_id',
  'transaction_id',
  'status',
  'processed_at',
  'failure_reason',
  'version',
  'reversed_at',
  'rendered',
  'advanced_by',
  'rail',
  'rail_reference',
  'source_account_number',
  'service_code',
  'external_id',
  'bank_reference',
  'overdue_since',
] as const;

// These repeat the condition on the key in a form that is executed as look-ups by key. With the join alone, a plan that
// was made for a small table reads all transactions.
const KEYS = `t.client_id = any (${arrayFromParameter(1)} collate "C")
   and t.transaction_id = any (${arrayFromParameter(2)} collate "C")`;

const END_SQL = `
with ended as (
  delete from tiba.transactions_in_process t
   using ${tableFromParameters(END_COLUMNS, 'position')}
   where t.client_id = input.client_id collate "C" and t.transaction_id = input.transaction_id collate "C" and ${KEYS}
     and ${STORED} = input.stored
  returning input.position, t.inserted_by
)
select string_agg(coalesce(inserted_by::text, ''), ',' order by position) as inserted_by from ended`;

// A distributed PostgreSQL converts no text to a time inside an update.
const UPDATE_SQL = `
with changed as materialized (
  select client_id collate "C" as client_id, transaction_id collate "C" as transaction_id, status,
         nullif(processed_at, '')::timestamptz as processed_at, nullif(failure_reason, '') as failure_reason,
         version::int as version, nullif(rail, '') as rail, nullif(rail_reference, '') as rail_reference,
         nullif(reversed_at, '')::timestamptz as reversed_at,
         nullif(source_account_number, '') as source_account_number, nullif(service_code, '') as service_code,
         nullif(external_id, '') as external_id, nullif(bank_reference, '') as bank_reference,
         nullif(overdue_since, '')::timestamptz as overdue_since, rendered,
         nullif(advanced_by, '')::bigint as advanced_by
    from ${tableFromParameters(CHANGING_COLUMNS)}
)
update tiba.transactions t
   set status = c.status, processed_at = c.processed_at, failure_reason = c.failure_reason, version = c.version,
       rail = c.rail, rail_reference = c.rail_reference, reversed_at = c.reversed_at,
       source_account_number = c.source_account_number, service_code = c.service_code,
       external_id = c.external_id, bank_reference = c.bank_reference,
       expected_by = case when c.status = 'PROCESS' then t.expected_by end, overdue_since = c.overdue_since,
       rendered = c.rendered, advanced_by = coalesce(c.advanced_by, t.advanced_by)
  from changed c
 where t.client_id = c.client_id and t.transaction_id = c.transaction_id and ${KEYS} ${ofClient('t')}
   -- The last of several guards: a final status never changes.
   and (t.status = 'PROCESS' or t.status = c.status)`;

/**
 * Writes the changed columns of transactions that `lockTransactions` has locked. PostgreSQL moves those that become
 * final into the table of final transactions.
 */
export async function updateTransactions(query: Query, toStore: readonly TransactionToStore[]): Promise<void> {
  if (toStore.length === 0) return;
  await query(UPDATE_SQL, toColumnParameters(CHANGING_COLUMNS, toStore.map(toChangingRow)), 'update-transactions');
}

/**
 * The same for transactions that become final and change in nothing else, as nearly all do: their rows are deleted, and
 * written as rows of the table of final transactions. Returns false when one of them is not stored as it is `before`;
 * the decision is out of date then: roll back, and decide again.
 */
export async function endTransactions(query: Query, ended: readonly TransactionToEnd[]): Promise<boolean> {
  if (ended.length === 0) return true;
  if (query.distributed === true) {
    await updateTransactions(query, ended);
    return true;
  }
  const toEnd = inKeyOrder(ended);
  const rendered = toEnd.map(({ before }) => renderedColumn(before));
  const parameters = [
    toArrayParameter(toEnd.map(({ before }) => before.clientId)),
    toArrayParameter(toEnd.map(({ before }) => before.transactionId)),
    toArrayParameter(toEnd.map(({ before }, index) => storedText(before, rendered[index] ?? ''))),
  ];
  const { rows } = await query<{ inserted_by: string | null }>(END_SQL, parameters, 'end-transactions');
  const insertedBy = rows[0]?.inserted_by?.split(',') ?? [];
  if (insertedBy.length !== toEnd.length) return false;
  const final = toEnd.map(({ transaction, advancedBy }, index) => ({
    transaction,
    advancedBy,
    insertedBy: insertedBy[index] || null,
    rendered: rendered[index] ?? '',
  }));
  await copyTransactionRows(query, COPY_FINAL_SQL, final, finalValues);
  return true;
}

export const toTransaction = (row: TransactionRow): Transaction => ({
  clientId: row.client_id,
  transactionId: row.transaction_id,
  referenceId: row.reference_id,
  status: row.status,
  amount: row.amount,
  fee: row.fee,
  currency: row.currency,
  bankCode: row.bank_code,
  bankName: row.bank_name,
  accountNumber: row.account_number,
  accountName: row.account_name,
  description: row.description,
  createdAt: row.created_at.toISOString(),
  processedAt: row.processed_at?.toISOString() ?? null,
  failureReason: row.failure_reason,
  version: row.version,
  rail: row.rail,
  railReference: row.rail_reference,
  reversedAt: row.reversed_at?.toISOString() ?? null,
  sourceAccountNumber: row.source_account_number,
  serviceCode: row.service_code,
  externalId: row.external_id,
  bankReference: row.bank_reference,
  expectedBy: row.expected_by?.toISOString() ?? null,
  overdueSince: row.overdue_since?.toISOString() ?? null,
});

type TextRow<Column extends string> = Record<Column, string | null>;

const toChangingRow = ({
  transaction,
  advancedBy,
}: TransactionToStore): TextRow<(typeof CHANGING_COLUMNS)[number]> => ({
  client_id: transaction.clientId,
  transaction_id: transaction.transactionId,
  status: transaction.status,
  processed_at: transaction.processedAt,
  failure_reason: transaction.failureReason,
  version: String(transaction.version),
  reversed_at: transaction.reversedAt,
  rendered: renderedColumn(transaction),
  advanced_by: advancedBy,
  rail: transaction.rail,
  rail_reference: transaction.railReference,
  source_account_number: transaction.sourceAccountNumber,
  service_code: transaction.serviceCode,
  external_id: transaction.externalId,
  bank_reference: transaction.bankReference,
  overdue_since: transaction.overdueSince,
});
