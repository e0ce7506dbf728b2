import type { UpdateResult } from '../domain/transaction.ts';
import { tableFromParameters, toColumnParameters } from './bulk-parameters.ts';
import type { Query } from './database.ts';
import type { TransactionKey } from './transactions.ts';

export interface StatusUpdateRecord extends TransactionKey {
  /** Who raw it. */
  readonly source: string;
  /** What was raw, as it came: JSON text. */
  readonly raw: string;
  readonly outcome: Exclude<UpdateResult['outcome'], 'rejected'>;
  /** Why it was not applied. */
  readonly reason: string | null;
}

const COLUMNS = ['client_id', 'transaction_id', 'source', 'raw', 'outcome', 'reason'] as const;

/** Keeps every word about a known transaction, in the order in which they came. */
export async function insertStatusUpdates(query: Query, updates: readonly StatusUpdateRecord[]): Promise<void> {
  if (updates.length === 0) return;
  const rows = updates.map(({ clientId, transactionId, source, raw, outcome, reason }) => ({
    client_id: clientId,
    transaction_id: transactionId,
    source,
    raw,
    outcome,
    reason,
  }));
  await query(
    `insert into tiba.status_updates (client_id, transaction_id, source, raw, outcome, reason)
     select client_id, transaction_id, source, raw::json, outcome, nullif(reason, '')
       from ${tableFromParameters(COLUMNS)}`,
    toColumnParameters(COLUMNS, rows),
  );
}
