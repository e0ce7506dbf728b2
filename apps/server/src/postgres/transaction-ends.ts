import type { Transaction } from '../domain/transaction.ts';
import { tableFromParameters, toArrayParameter } from './bulk-parameters.ts';
import type { Query } from './database.ts';
import { endedColumn, renderedColumn } from './rendered-transactions.ts';
import {
  COMMON_COLUMNS,
  commonValues,
  copyTransactionRows,
  copyTransactionsSql,
  FINAL_COLUMNS,
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

/** What a row of transactions_in_process must still be when it is deleted: all that a decision is made of. */
const COMPARED = `concat_ws(E'\\x02', t.version, t.rendered, t.reference_id, t.currency, t.bank_code, t.bank_name,
            t.account_number, t.account_name, t.description, coalesce(t.rail, ''), coalesce(t.rail_reference, ''),
            coalesce(t.source_account_number, ''), coalesce(t.service_code, ''), coalesce(t.external_id, ''),
            coalesce(t.bank_reference, ''), t.overdue_since is null)`;

const comparedText = (before: Transaction, rendered: string): string =>
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
     and ${COMPARED} = input.compared and (select is_known from known)
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
  const final = toEnd.map(({ transaction, advancedBy }, index) => ({
    transaction,
    advancedBy,
    insertedBy: insertedBy[index] || null,
    rendered: rendered[index] ?? '',
  }));
  await copyTransactionRows(query, COPY_FINAL_SQL, final, finalValues);
  return true;
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
