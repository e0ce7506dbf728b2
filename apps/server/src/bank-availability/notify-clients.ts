import type { Bank } from '../domain/bank.ts';
import { claimPendingNotice, type PendingBankNotice, recordNotified } from '../postgres/bank-availability.ts';
import { findClientsWithScope } from '../postgres/clients.ts';
import type { Database } from '../postgres/database.ts';
import { insertEvents, type NewEvent } from '../postgres/events.ts';

/**
 * So many clients are told in one database transaction: whoever has something else to tell one of them waits for its end,
 * and with a thousand clients and their endpoints at once, a feed would have waited in vain.
 */
const CLIENTS_AT_ONCE = 100;

/** Tells the next clients how the bank is now. Whether there may be more of them to tell. */
export function notifyClientBatch(database: Database, bank: Bank): Promise<boolean> {
  return database.transaction(async (query) => {
    const untold = await claimPendingNotice(query, bank.bic);
    if (untold === null) return false;
    const range = { after: untold.notifiedUpToClientId, limit: CLIENTS_AT_ONCE };
    const clients = await findClientsWithScope(query, 'account:check', range);
    const isLast = clients.length < CLIENTS_AT_ONCE;
    await recordNotified(query, bank.bic, isLast ? null : (clients.at(-1) ?? null));
    // Last, because it holds up whoever else has something to tell the same client.
    await insertEvents(query, clients.map(happening(bank, untold)));
    return !isLast;
  });
}

function happening(bank: Bank, { status, version, since }: PendingBankNotice): (clientId: string) => NewEvent {
  const { clearingCode, bic, name } = bank;
  const kind = status === 'UP' ? 'bank.up' : 'bank.down';
  const occurredAt = new Date().toISOString();
  const data = JSON.stringify({ bank_code: clearingCode, bic, bank_name: name, status, since });
  return (clientId) => ({ clientId, subjectId: bic, version, kind, occurredAt, data });
}
