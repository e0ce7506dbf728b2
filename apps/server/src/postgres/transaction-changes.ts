import type { Transaction } from '../domain/transaction.ts';
import type { Query } from './database.ts';
import type { TransactionKey } from './transactions.ts';

export const CHANGES_CHANNEL = 'tiba_changes';

/** What every process hears of a change, so that whoever waits for it reads it. */
export interface TransactionChange extends TransactionKey {
  readonly bankName: string;
  /** How long its bank took, in milliseconds; null while it is in PROCESS. */
  readonly durationMs: number | null;
}

// Control characters are in none of the fields.
const BETWEEN_CHANGES = '\u0001';
const BETWEEN_FIELDS = '\u0002';
/** PostgreSQL takes less than 8000 bytes at a time. Names are at most four bytes a character. */
const PAYLOAD_LENGTH_MAX = 1_900;

/** Tells all processes, when the database transaction is committed. */
export async function notifyTransactionChanges(query: Query, transactions: readonly Transaction[]): Promise<void> {
  if (transactions.length === 0) return;
  const payloads: string[] = [];
  let gathered = '';
  for (const transaction of transactions) {
    const text = write(transaction);
    if (gathered !== '' && gathered.length + text.length >= PAYLOAD_LENGTH_MAX) {
      payloads.push(gathered);
      gathered = '';
    }
    gathered = gathered === '' ? text : gathered + BETWEEN_CHANGES + text;
  }
  payloads.push(gathered);
  await query(`select pg_notify('${CHANGES_CHANNEL}', payload) from unnest($1::text[]) as payload`, [payloads]);
}

function write({ clientId, transactionId, bankName, createdAt, processedAt, reversedAt }: Transaction): string {
  // A reversal comes days later, and says nothing about how long the bank takes.
  const durationMs =
    processedAt === null || reversedAt !== null ? '' : Math.max(0, Date.parse(processedAt) - Date.parse(createdAt));
  return [clientId, transactionId, bankName, durationMs].join(BETWEEN_FIELDS);
}

export const parseTransactionChanges = (payload: string): TransactionChange[] =>
  payload.split(BETWEEN_CHANGES).map((text) => {
    const [clientId = '', transactionId = '', bankName = '', durationMs = ''] = text.split(BETWEEN_FIELDS);
    return { clientId, transactionId, bankName, durationMs: durationMs === '' ? null : Number(durationMs) };
  });
