import type { Transaction } from '../domain/transaction.ts';
import type { Query } from './database.ts';
import type { TransactionKey } from './transactions.ts';

export const CHANGES_CHANNEL = 'tiba_changes';

/** The notification that every process gets about a changed transaction. */
export interface TransactionChange extends TransactionKey {
  readonly bankName: string;
  /** How long the bank took, in milliseconds; null while the transaction is in PROCESS. */
  readonly durationMs: number | null;
}

// No field contains a control character.
const CHANGE_SEPARATOR = '\u0001';
const FIELD_SEPARATOR = '\u0002';
/** A payload must be shorter than 8000 bytes (PostgreSQL, NOTIFY). A character has at most four bytes. */
const PAYLOAD_LENGTH_MAX = 1_900;

/** Notifies all processes when the database transaction is committed. */
export async function notifyTransactionChanges(query: Query, transactions: readonly Transaction[]): Promise<void> {
  if (transactions.length === 0) return;
  const payloads: string[] = [];
  let payload = '';
  for (const transaction of transactions) {
    const text = serialize(transaction);
    if (payload !== '' && payload.length + text.length >= PAYLOAD_LENGTH_MAX) {
      payloads.push(payload);
      payload = '';
    }
    payload = payload === '' ? text : payload + CHANGE_SEPARATOR + text;
  }
  payloads.push(payload);
  await query(
    `select pg_notify('${CHANGES_CHANNEL}', payload) from unnest($1::text[]) as payload`,
    [payloads],
    'notify-changes',
  );
}

function serialize({ clientId, transactionId, bankName, createdAt, processedAt, reversedAt }: Transaction): string {
  // A reversal comes days later and says nothing about how long the bank takes.
  const durationMs =
    processedAt === null || reversedAt !== null ? '' : Math.max(0, Date.parse(processedAt) - Date.parse(createdAt));
  return [clientId, transactionId, bankName, durationMs].join(FIELD_SEPARATOR);
}

export const parseTransactionChanges = (payload: string): TransactionChange[] =>
  payload.split(CHANGE_SEPARATOR).map((text) => {
    const [clientId = '', transactionId = '', bankName = '', durationMs = ''] = text.split(FIELD_SEPARATOR);
    return { clientId, transactionId, bankName, durationMs: durationMs === '' ? null : Number(durationMs) };
  });
