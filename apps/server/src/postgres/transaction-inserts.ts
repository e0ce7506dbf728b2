import { isFinal, type Transaction } from '../domain/transaction.ts';
import { listFromText, tableFromParameters, toColumnParameters, toListValue } from './bulk-parameters.ts';
import type { CopyValue } from './copy.ts';
import type { Query } from './database.ts';
import { ofClient } from './distributed/one-client.ts';
import { insertTransactionsOf } from './distributed/transactions.ts';
import { renderedColumn } from './rendered-transactions.ts';
import { endTransactions, type TransactionToEnd } from './transaction-ends.ts';
import {
  COMMON_COLUMNS,
  commonValues,
  copyTransactionRows,
  copyTransactionsSql,
  inKeyOrder,
  PROCESS_COLUMNS,
  type TransactionToStore,
} from './transaction-rows.ts';

const COPY_NEW_SQL = copyTransactionsSql('tiba.transactions_in_process', [...COMMON_COLUMNS, ...PROCESS_COLUMNS]);

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
  const ordered = inKeyOrder(toStore);
  const toEnd: TransactionToEnd[] = [];
  const inProcess = ordered.map((each) => {
    if (!isFinal(each.transaction.status)) return each;
    const before = beforeItsEnd(each.transaction);
    toEnd.push({ ...each, before });
    return { ...each, transaction: before };
  });
  const insert = query.distributed === true ? insertTransactionsOf : copyTransactions;
  if (!(await insert(query, inProcess))) return false;
  return !(await existFinal(query, ordered)) && (await endTransactions(query, toEnd, true));
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
    await copyTransactionRows(query, COPY_NEW_SQL, toStore, newRow);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === DUPLICATE) return false;
    throw error;
  }
}

/** A row of transactions_in_process. */
const newRow = ({ transaction, insertedBy }: TransactionToStore, value: CopyValue): string =>
  `${commonValues(transaction, renderedColumn(transaction), insertedBy, value)}\t${value(transaction.expectedBy)}`;

/** Whether a final transaction has one of these transaction IDs or reference IDs. They are in key order. */
async function existFinal(query: Query, ordered: readonly TransactionToStore[]): Promise<boolean> {
  const byClient = Map.groupBy(ordered, ({ transaction }) => transaction.clientId);
  const rows = Array.from(byClient, ([clientId, own]) => {
    const ids = own.map(({ transaction }) => transaction.transactionId);
    return {
      client_id: clientId,
      first_id: ids[0] ?? '',
      last_id: ids.at(-1) ?? '',
      transaction_ids: toListValue(ids),
      reference_ids: toListValue(own.map(({ transaction }) => transaction.referenceId)),
    };
  });
  const { rowCount } = await query(
    EXIST_FINAL_SQL,
    toColumnParameters(EXIST_FINAL_COLUMNS, rows),
    'exist-final-transactions',
  );
  return rowCount !== 0;
}

const EXIST_FINAL_COLUMNS = ['client_id', 'first_id', 'last_id', 'transaction_ids', 'reference_ids'] as const;

// All IDs of a client in one scan of the index, which costs less than a scan for each. With `exists`, and with joins,
// PostgreSQL may choose to read all final transactions instead. Most cores count their transactions, or begin their IDs
// with the time: then no final transaction, of any client, is between the first and the last of a batch, and one look
// at the index is enough.
const EXIST_FINAL_SQL = `
select from ${tableFromParameters(EXIST_FINAL_COLUMNS)}
 where coalesce(
   case when (select true from tiba.transactions_final t
               where t.transaction_id >= input.first_id collate "C"
                 and t.transaction_id <= input.last_id collate "C" ${ofClient('t')}
               order by t.transaction_id limit 1)
        then (select true from tiba.transactions_final t
               where t.client_id = input.client_id collate "C"
                 and t.transaction_id = any (${listFromText('input.transaction_ids')} collate "C") ${ofClient('t')}
               limit 1) end,
   (select true from tiba.transactions_final t
     where t.client_id = input.client_id collate "POSIX"
       and t.reference_id = any (${listFromText('input.reference_ids')} collate "C") ${ofClient('t')} limit 1))
 limit 1`;
