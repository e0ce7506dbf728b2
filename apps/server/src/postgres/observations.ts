import type { Observed } from '../domain/transaction.ts';
import { inColumns, tableOf } from './columns.ts';
import type { Query } from './database.ts';
import type { TransactionKey } from './transactions.ts';

export interface Observation extends TransactionKey {
  /** Who said it. */
  readonly source: string;
  /** What was said, as it came: JSON text. */
  readonly said: string;
  readonly outcome: Exclude<Observed['outcome'], 'rejected'>;
  /** Why it was not applied. */
  readonly reason: string | null;
}

const COLUMNS = ['client_id', 'transaction_id', 'source', 'said', 'outcome', 'reason'] as const;

/** Keeps every word about a known transaction, in the order in which they came. */
export async function insertObservations(query: Query, observations: readonly Observation[]): Promise<void> {
  if (observations.length === 0) return;
  const rows = observations.map(({ clientId, transactionId, source, said, outcome, reason }) => ({
    client_id: clientId,
    transaction_id: transactionId,
    source,
    said,
    outcome,
    reason,
  }));
  await query(
    `insert into tiba.observations (client_id, transaction_id, source, said, outcome, reason)
     select client_id, transaction_id, source, said::json, outcome, nullif(reason, '')
       from ${tableOf(COLUMNS)}`,
    inColumns(COLUMNS, rows),
  );
}
