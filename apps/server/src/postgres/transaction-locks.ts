import { keyOf } from '../domain/identifiers.ts';
import type { Status, Transaction } from '../domain/transaction.ts';
import type { Query } from './database.ts';
import { ofClient } from './distributed/one-client.ts';
import { readRenderedColumn, separatedTexts } from './rendered-transactions.ts';
import type { TransactionKey } from './transactions.ts';

/**
 * Reads the transactions of these keys that exist, and locks them until the database transaction ends.
 *
 * Most are in PROCESS, so the final ones are looked up only for keys that are not there. A transaction only moves from
 * the one table to the other: the second statement finds what was moved before the first one.
 */
export async function lockTransactions(query: Query, keys: readonly TransactionKey[]): Promise<Transaction[]> {
  const found = await lockIn(query, 'in_process', keys);
  if (found.length === keys.length) return found;
  const present = new Set(found.map(({ clientId, transactionId }) => keyOf(clientId, transactionId)));
  const missing = keys.filter(({ clientId, transactionId }) => !present.has(keyOf(clientId, transactionId)));
  return missing.length === 0 ? found : [...found, ...(await lockIn(query, 'final', missing))];
}

async function lockIn(
  query: Query,
  table: 'in_process' | 'final',
  keys: readonly TransactionKey[],
): Promise<Transaction[]> {
  const { rows } = await query<{ stored: string }>(
    LOCK_SQL[table],
    [keys.map(({ clientId }) => clientId), keys.map(({ transactionId }) => transactionId)],
    `lock-transactions-${table}`,
  );
  return rows.map(({ stored }) => parseStored(stored));
}

// As one text: amounts and times are printed already, and one text costs both sides less than 25 columns.
const STORED = `concat_ws(E'\\x02', t.client_id, t.transaction_id, t.reference_id, t.status, t.currency, t.bank_code,
            t.bank_name, t.account_number, t.account_name, t.description, coalesce(t.failure_reason, ''), t.rendered,
            t.version, coalesce(t.rail, ''), coalesce(t.rail_reference, ''), coalesce(t.source_account_number, ''),
            coalesce(t.service_code, ''), coalesce(t.external_id, ''), coalesce(t.bank_reference, ''),
            coalesce(date_part('epoch', t.expected_by)::text, ''),
            coalesce(date_part('epoch', t.reversed_at)::text, ''),
            coalesce(date_part('epoch', t.overdue_since)::text, ''))`;

const lockSql = (table: string): string =>
  `select own.stored
     -- Locks in key order, so that two feeds with the same transactions cannot deadlock. Transaction IDs mostly grow
     -- with time, and rows that are written in that order fill the pages of indexes.
     from (select * from unnest($1::text[], $2::text[]) as k (client_id, transaction_id)
            order by transaction_id collate "C", client_id collate "C") as k
     -- A look-up for each key. A join may read all transactions instead, by a plan that was made for a small table.
    cross join lateral (
      select ${STORED} as stored from ${table} t
       where t.client_id = k.client_id collate "C" and t.transaction_id = k.transaction_id collate "C" ${ofClient('t')}
         for no key update of t) as own`;

const LOCK_SQL = {
  in_process: lockSql('tiba.transactions_in_process'),
  final: lockSql('tiba.transactions_final'),
} as const;

/** The fields are read in the order of `STORED`. */
function parseStored(text: string): Transaction {
  const { next, rest } = separatedTexts(text);
  const texts = {
    clientId: next(),
    transactionId: next(),
    referenceId: next(),
    status: next() as Status,
    currency: next(),
    bankCode: next(),
    bankName: next(),
    accountNumber: next(),
    accountName: next(),
    description: next(),
    failureReason: orNull(next()),
  };
  const { amount, fee, createdAt, processedAt } = readRenderedColumn(next);
  return {
    ...texts,
    amount,
    fee,
    createdAt,
    processedAt: orNull(processedAt),
    version: Number(next()),
    rail: orNull(next()),
    railReference: orNull(next()),
    sourceAccountNumber: orNull(next()),
    serviceCode: orNull(next()),
    externalId: orNull(next()),
    bankReference: orNull(next()),
    expectedBy: toInstant(next()),
    reversedAt: toInstant(next()),
    overdueSince: toInstant(rest()),
  };
}

const orNull = (text: string): string | null => (text === '' ? null : text);

/** Seconds since 1970, with their fraction; empty for no time. */
const toInstant = (seconds: string): string | null =>
  seconds === '' ? null : new Date(Math.round(Number(seconds) * 1_000)).toISOString();
