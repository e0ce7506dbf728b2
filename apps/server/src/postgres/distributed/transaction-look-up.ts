import type { Database } from '../database.ts';
import { printed } from '../rendered-transactions.ts';

/** See `PendingLookUp`. */
interface LookUpOfClient {
  readonly value: string;
  readonly alsoTransactionId: boolean;
}

/**
 * The look-ups of one client on a distributed PostgreSQL: each result as the statements of one PostgreSQL give it, in
 * the order of the look-ups, and '' where there is no such transaction. Citus plans a statement each time it is
 * executed, which takes 2 ms, except when it reads a single table and names the client once. So this statement returns
 * rows, and they are matched with the look-ups here.
 */
export async function findRenderedOf(
  database: Database,
  clientId: string,
  lookUps: readonly LookUpOfClient[],
): Promise<string[]> {
  const transactionIds = lookUps.flatMap(({ value, alsoTransactionId }) => (alsoTransactionId ? [value] : []));
  const references = lookUps.map(({ value }) => value);
  const rows = await database.query<FoundRow>(
    FIND_SQL,
    [clientId, transactionIds.join(SEPARATOR), references.join(SEPARATOR)],
    'transaction-look-up-of-client',
  );
  const byTransactionId = new Map(rows.map((row) => [row.transaction_id, row.result]));
  const byReference = new Map(rows.map((row) => [row.reference_id, row.result]));
  return lookUps.map(({ value, alsoTransactionId }) => {
    const result = alsoTransactionId ? byTransactionId.get(value) : undefined;
    return result ?? byReference.get(value) ?? '';
  });
}

type FoundRow = { readonly transaction_id: string; readonly reference_id: string; readonly result: string };

// No identifier contains a control character.
const SEPARATOR = '\u0001';

const TAIL = "t.version || case t.status when 'PROCESS' then coalesce('I' || t.rail, 'P') else 'F' end";

const FIND_SQL = `
select t.transaction_id, t.reference_id, ${printed('t', TAIL)} as result
  from tiba.transactions t
 where t.client_id = $1 and (t.transaction_id = any (string_to_array($2, E'\\x01'))
                             or t.reference_id = any (string_to_array($3, E'\\x01')))`;
