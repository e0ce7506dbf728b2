import type { Transaction } from '../domain/transaction.ts';
import { tableFromParameters, toArrayParameter } from './bulk-parameters.ts';
import type { Query } from './database.ts';
import { endedColumn, renderedColumn } from './rendered-transactions.ts';
import {
  ADDED_COLUMNS,
  addedValues,
  COMMON_COLUMNS,
  commonValues,
  copyTransactionRows,
  copyTransactionsSql,
  FINAL_COLUMNS,
  hasRare,
  inKeyOrder,
  KEYS,
  PROCESS_COLUMNS,
  RARE_COLUMNS,
  type TransactionToStore,
} from './transaction-rows.ts';
import { updateTransactions } from './transaction-updates.ts';

/** A transaction that becomes final. */
export interface TransactionToEnd extends TransactionToStore {
  /** As it is in transactions_in_process, but for `expectedBy`. */
  readonly before: Transaction;
}

const COPY_FINAL_SQL = copyTransactionsSql('tiba.transactions_final', [...COMMON_COLUMNS, ...FINAL_COLUMNS]);

const END_COLUMNS = ['client_id', 'transaction_id', 'compared'] as const;

const RARE_COLUMNS_IN_PROCESS = [...ADDED_COLUMNS, 'overdue_since'];

/**
 * What a row of transactions_in_process must still be when it is deleted: all that a decision is made of. As one text,
 * whose parts PostgreSQL prints one by one: those that most do not have are a part only where there is any.
 */
const COMPARED = `concat_ws(E'\\x02', t.rendered, t.version, t.reference_id, t.currency, t.bank_code, t.bank_name,
            t.account_number, t.account_name, t.description,
            case when ${RARE_COLUMNS_IN_PROCESS.map((column) => `t.${column} is null`).join(' and ')} then ''
                 else concat_ws(E'\\x02', ${ADDED_COLUMNS.map((column) => `coalesce(t.${column}, '')`).join(', ')},
                                t.overdue_since is null) end)`;

const SEPARATOR = '\u0002';

function comparedText(before: Transaction, rendered: string): string {
  const { version, referenceId, currency, bankCode, bankName, accountNumber, accountName, description } = before;
  const payout = `${rendered}${SEPARATOR}${version}${SEPARATOR}${referenceId}${SEPARATOR}${currency}`;
  const bank = `${bankCode}${SEPARATOR}${bankName}`;
  const account = `${accountNumber}${SEPARATOR}${accountName}`;
  const rare = hasRare(before) ? rareText(before) : '';
  return `${payout}${SEPARATOR}${bank}${SEPARATOR}${account}${SEPARATOR}${description}${SEPARATOR}${rare}`;
}

/** The last part says whether it is not overdue, as PostgreSQL writes that. */
const rareText = (before: Transaction): string =>
  [...addedValues(before), before.overdueSince === null ? 't' : 'f'].join(SEPARATOR);

const KNOWN_COLUMNS = COMMON_COLUMNS.length + PROCESS_COLUMNS.length + FINAL_COLUMNS.length + RARE_COLUMNS.length;

// The next release of Tiba may have added columns, and serve beside this one: a row that is written anew would lose
// them.
const END_SQL = `
with known as (
  select count(*) = ${KNOWN_COLUMNS} as is_known from pg_attribute
   where attrelid = 'tiba.transactions'::regclass and attnum > 0 and not attisdropped
), ended as (
  delete from tiba.transactions_in_process t
   using ${tableFromParameters(END_COLUMNS, 'position')}
   where t.client_id = input.client_id collate "C" and t.transaction_id = input.transaction_id collate "C" and ${KEYS}
     -- Not as a part of the join: PostgreSQL would print it twice, to hash it and to compare it.
     and (${COMPARED} = input.compared) is true
     and (select is_known from known)
  returning input.position, t.inserted_by
)
select string_agg(coalesce(inserted_by::text, ''), ',' order by position) as inserted_by,
       (select is_known from known) as is_known
  from ended`;

interface EndedRow extends Record<string, unknown> {
  /** Of each that was ended, in the order of the input, with commas between them; null for none. */
  inserted_by: string | null;
  /** Whether a transaction has no columns but those of this release. If not, none was ended. */
  is_known: boolean;
}

/**
 * Writes transactions that become final and change in nothing else, as nearly all do: their rows are deleted, and
 * written as rows of the table of final transactions. Returns false when one of them is not stored as it is `before`;
 * the decision is out of date then: roll back, and decide again. `areLocked`: whether `lockTransactions` has read them.
 */
export async function endTransactions(
  query: Query,
  ended: readonly TransactionToEnd[],
  areLocked: boolean,
): Promise<boolean> {
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
    toArrayParameter(toEnd.map(({ before }, index) => comparedText(before, rendered[index] ?? ''))),
  ];
  const { rows } = await query<EndedRow>(END_SQL, parameters, 'end-transactions');
  if (rows[0]?.is_known === false) {
    // An update keeps all columns, and does not compare what is stored: so it must have been locked.
    if (areLocked) await updateTransactions(query, toEnd);
    return areLocked;
  }
  const insertedBy = rows[0]?.inserted_by?.split(',') ?? [];
  if (insertedBy.length !== toEnd.length) return false;
  await copyTransactionRows(query, COPY_FINAL_SQL, toEnd, ({ transaction, advancedBy }, value, index) => {
    const ended = endedColumn(rendered[index] ?? '', transaction);
    const common = commonValues(transaction, ended, insertedBy[index] || null, value);
    return `${common}\t${value(transaction.processedAt)}\t${value(advancedBy)}`;
  });
  return true;
}
