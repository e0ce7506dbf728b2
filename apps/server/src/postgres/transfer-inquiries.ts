import type { Query } from './database.ts';
import type { TransactionKey } from './transactions.ts';

/** From now on the rail is asked about these, for the first time at `firstAt` (ISO 8601 UTC). */
export async function beginTransferInquiries(
  query: Query,
  keys: readonly TransactionKey[],
  firstAt: string,
): Promise<void> {
  if (keys.length === 0) return;
  await query(
    `insert into tiba.transfer_inquiries (client_id, transaction_id, next_at)
     select client_id, transaction_id, $3 from unnest($1::text[], $2::text[]) as k (client_id, transaction_id)
      order by client_id, transaction_id
     on conflict do nothing`,
    [keys.map((key) => key.clientId), keys.map((key) => key.transactionId), firstAt],
  );
}

/** There is nothing left to ask about these. */
export async function endTransferInquiries(query: Query, keys: readonly TransactionKey[]): Promise<void> {
  if (keys.length === 0) return;
  await query(
    `delete from tiba.transfer_inquiries i
      using unnest($1::text[], $2::text[]) as k (client_id, transaction_id)
      where i.client_id = k.client_id collate "C" and i.transaction_id = k.transaction_id collate "C"`,
    [keys.map((key) => key.clientId), keys.map((key) => key.transactionId)],
  );
}
