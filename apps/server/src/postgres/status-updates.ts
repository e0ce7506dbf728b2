import type { UpdateResult } from '../domain/apply-update.ts';
import { tableFromParameters, toColumnParameters } from './bulk-parameters.ts';
import type { Query } from './database.ts';
import type { TransactionKey } from './transactions.ts';

export interface StatusUpdateRecord extends TransactionKey {
  /** Where the update came from: the client_id of the feed, `rail:` and the rail, or `clock`. */
  readonly source: string;
  /** The message as it was received: JSON text. */
  readonly raw: string;
  readonly outcome: Exclude<UpdateResult['outcome'], 'rejected'>;
  /** Why it was not applied, or which of its fields were not; null when all of it was. */
  readonly reason: string | null;
}

const COLUMNS = ['client_id', 'transaction_id', 'source', 'raw', 'outcome', 'reason'] as const;

/** Stores every status update of a known transaction, in the order in which they were received. */
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
