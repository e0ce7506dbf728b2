import { randomBytes } from 'node:crypto';
import type { Database, Query, Row } from './database.ts';
import { byClient, databaseOfClient, ofClient } from './distributed/one-client.ts';
import { compressMessages, decompressMessages } from './status-messages.ts';
import { IDS_PER_ROW, messageRowOf } from './status-updates.ts';
import { readHistories, type TransactionHistory } from './transaction-histories.ts';
import { IN_INDEX_ORDER, isAccount } from './transaction-list.ts';
import { lockTransactions } from './transaction-locks.ts';
import type { TransactionKey } from './transactions.ts';

/** What is stored about the holder of one account. All of it is read over all clients, for the operator. */

const PAGE = 200;

/** The transactions that paid one of these account numbers, in pages. */
export async function* listTransactionsPaidTo(
  database: Database,
  accountNumbers: readonly string[],
): AsyncGenerator<TransactionKey[]> {
  for (const accountNumber of accountNumbers) {
    let after: readonly [number, Date | string, string, string] = [INTEGER_MIN, '-infinity', '', ''];
    for (;;) {
      const { rows } = await database.transaction(async (query) => {
        await query(IN_INDEX_ORDER);
        return query<PaidTo>(PAID_TO_SQL, [accountNumber, ...after, PAGE]);
      });
      if (rows.length > 0) yield rows.map(toKey);
      const last = rows[PAGE - 1];
      if (last === undefined) break;
      after = [last.client_hash, last.created_at, last.client_id, last.transaction_id];
    }
  }
}

interface PaidTo extends Record<string, unknown> {
  client_id: string;
  transaction_id: string;
  created_at: Date;
  client_hash: number;
}

const INTEGER_MIN = -(2 ** 31);

/** In the order of an index (transactions_account), which has hashes. */
export const PAID_TO_SQL = `
select client_id, transaction_id, created_at, hashtext(client_id) as client_hash from tiba.transactions t
 where ${isAccount('$1')}
   and (hashtext(client_id), created_at, client_id, transaction_id) > ($2::int, $3::timestamptz, $4, $5)
 order by hashtext(account_number), hashtext(client_id), created_at, client_id, transaction_id limit $6`;

/** The condition is that of an index (other_status_updates_conflicts): conflicts are few among all updates. */
export const CONFLICTS_SQL = `
select distinct client_id, transaction_id from tiba.other_status_updates
 where outcome = 'conflict' and (client_id, transaction_id) > ($1, $2)
 order by client_id, transaction_id limit $3`;

/** Transactions with a status update that conflicts, in pages: such an update may name another account. */
export async function* listTransactionsWithConflicts(database: Database): AsyncGenerator<TransactionKey[]> {
  let after: readonly [string, string] = ['', ''];
  for (;;) {
    const rows = await database.query<{ client_id: string; transaction_id: string }>(CONFLICTS_SQL, [...after, PAGE]);
    if (rows.length > 0) yield rows.map(toKey);
    const last = rows[PAGE - 1];
    if (last === undefined) return;
    after = [last.client_id, last.transaction_id];
  }
}

const toKey = (row: { client_id: string; transaction_id: string }): TransactionKey => ({
  clientId: row.client_id,
  transactionId: row.transaction_id,
});

/**
 * Reads the histories of the client's transactions with these IDs, and stores those that `erase` returns, as they are
 * after a person was erased from them. Returns how many these are.
 *
 * The transactions are locked before they are read, as the feed locks them: an update that is fed meanwhile is applied
 * before, and is read, or afterwards, and finds an erased transaction.
 */
export function eraseHistories(
  database: Database,
  clientId: string,
  transactionIds: readonly string[],
  erase: (histories: readonly TransactionHistory[]) => readonly TransactionHistory[],
): Promise<number> {
  return databaseOfClient(database, clientId).transaction(async (query) => {
    const keys = transactionIds.map((transactionId) => ({ clientId, transactionId }));
    await lockTransactions(query, keys);
    const erased = erase(await readHistories(readingWith(query, database), clientId, transactionIds));
    if (erased.length === 0) return 0;
    await storeTransactions(query, clientId, erased);
    await storeUpdates(query, clientId, erased);
    await storeEvents(query, clientId, erased);
    await storeAttempts(query, clientId, erased);
    return erased.length;
  });
}

/** Reads in the database transaction that has this query. */
const readingWith = (query: Query, database: Database): Database => ({
  ...database,
  async query<R extends Row>(sql: string, values?: readonly unknown[], name?: string) {
    return (await query<R>(sql, values, name)).rows;
  },
});

async function storeTransactions(
  query: Query,
  clientId: string,
  histories: readonly TransactionHistory[],
): Promise<void> {
  const transactions = histories.map(({ transaction }) => transaction);
  await query(
    `update tiba.transactions t
        set account_number = k.account_number, account_name = k.account_name, description = k.description,
            failure_reason = k.failure_reason
       from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
         as k (transaction_id, account_number, account_name, description, failure_reason)
      where t.client_id = $1 and t.transaction_id = k.transaction_id collate "C"`,
    [
      clientId,
      transactions.map(({ transactionId }) => transactionId),
      transactions.map(({ accountNumber }) => accountNumber),
      transactions.map(({ accountName }) => accountName),
      transactions.map(({ description }) => description),
      transactions.map(({ failureReason }) => failureReason),
    ],
  );
}

async function storeUpdates(query: Query, clientId: string, histories: readonly TransactionHistory[]): Promise<void> {
  const updates = histories.flatMap(({ transaction: { transactionId }, statusUpdates }) =>
    statusUpdates.map((update) => ({ transactionId, ...update })),
  );
  await query(
    `update tiba.other_status_updates u set reason = k.reason
       from unnest($2::text[], $3::bigint[], $4::text[]) as k (transaction_id, status_update_id, reason)
      where u.client_id = $1 and u.transaction_id = k.transaction_id collate "C"
        and u.status_update_id = k.status_update_id and u.reason is distinct from k.reason`,
    [
      clientId,
      updates.map(({ transactionId }) => transactionId),
      updates.map(({ statusUpdateId }) => statusUpdateId),
      updates.map(({ reason }) => reason),
    ],
  );
  const rows = new Map<number, { position: number; raw: string }[]>();
  for (const { statusUpdateId, raw } of updates) {
    if (raw === null) continue;
    const row = messageRowOf(statusUpdateId);
    const position = Number(statusUpdateId) % IDS_PER_ROW;
    rows.set(row, [...(rows.get(row) ?? []), { position, raw }]);
  }
  for (const [row, own] of [...rows].sort(([one], [other]) => one - other)) {
    const key = [clientId, row * IDS_PER_ROW];
    const { rows: stored } = await query<{ messages: Buffer }>(
      'select messages from tiba.status_messages where client_id = $1 and first_status_update_id = $2 for update',
      key,
    );
    if (stored[0] === undefined) continue;
    const messages = await decompressMessages(stored[0].messages);
    if (own.every(({ position, raw }) => messages[position] === raw)) continue;
    for (const { position, raw } of own) messages[position] = raw;
    await query('update tiba.status_messages set messages = $3 where client_id = $1 and first_status_update_id = $2', [
      ...key,
      compressMessages(messages),
    ]);
  }
}

async function storeEvents(query: Query, clientId: string, histories: readonly TransactionHistory[]): Promise<void> {
  const events = histories.flatMap((history) => history.events);
  await query(
    `update tiba.events v set data = k.data from unnest($2::bigint[], $3::text[]) as k (sequence, data)
      where v.client_id = $1 and v.sequence = k.sequence and v.data is not null`,
    [clientId, events.map(({ sequence }) => sequence), events.map(({ data }) => data)],
  );
}

async function storeAttempts(query: Query, clientId: string, histories: readonly TransactionHistory[]): Promise<void> {
  const attempts = histories.flatMap(({ deliveries }) =>
    deliveries.flatMap(({ endpointId, sequence, attempts: own }) =>
      own.map((attempt) => ({ endpointId, sequence, ...attempt })),
    ),
  );
  await query(
    `update tiba.callback_attempts a set answer = k.answer, error = k.error
       from unnest($2::text[], $3::bigint[], $4::int[], $5::text[], $6::text[])
         as k (endpoint_id, sequence, attempt, answer, error)
      where a.client_id = $1 and a.endpoint_id = k.endpoint_id collate "C" and a.sequence = k.sequence
        and a.attempt = k.attempt and (a.answer, a.error) is distinct from (k.answer, k.error)`,
    [
      clientId,
      attempts.map(({ endpointId }) => endpointId),
      attempts.map(({ sequence }) => sequence),
      attempts.map(({ attempt }) => attempt),
      attempts.map(({ answer }) => answer),
      attempts.map(({ error }) => error),
    ],
  );
}

/** A row of a bulk validation. */
export interface StoredValidationRow {
  readonly clientId: string;
  readonly validationId: string;
  readonly rowNumber: number;
  /** Rows of a validation that runs are still needed. */
  readonly isRunning: boolean;
  readonly bankCode: string | null;
  readonly reference: string | null;
  readonly accountNumber: string | null;
  readonly expectedAccountName: string | null;
  readonly accountName: string | null;
  readonly result: string | null;
}

/** The rows of all bulk validations with one of these account numbers, one validation at a time. */
export async function* listValidationRowsOf(
  database: Database,
  accountNumbers: readonly string[],
): AsyncGenerator<StoredValidationRow[]> {
  let after: readonly [string, string] = ['', ''];
  for (;;) {
    const [validation] = await database.query<{ client_id: string; validation_id: string; state: string }>(
      `select client_id, validation_id, state from tiba.account_validations
        where (client_id, validation_id) > ($1, $2) order by client_id, validation_id limit 1`,
      after,
    );
    if (validation === undefined) return;
    after = [validation.client_id, validation.validation_id];
    const rows = await database.query<ValidationRow>(
      `select row_number, bank_code, reference, account_number, expected_account_name, account_name, result
         from tiba.account_validation_rows
        where client_id = $1 and validation_id = $2
          -- What is no account number of the bank stays as the client wrote it.
          and (account_number ilike any ($3::text[])
               or regexp_replace(account_number, '[^0-9]', '', 'g') = any ($4::text[])) order by row_number`,
      [
        ...after,
        accountNumbers.map((number) => number.replaceAll(/[\\%_]/g, String.raw`\$&`)),
        accountNumbers.filter((number) => !number.includes('@')).map((number) => number.replace('+', '')),
      ],
    );
    if (rows.length === 0) continue;
    yield rows.map((row) => ({
      clientId: validation.client_id,
      validationId: validation.validation_id,
      rowNumber: row.row_number,
      isRunning: validation.state === 'RUNNING',
      bankCode: row.bank_code,
      reference: row.reference,
      accountNumber: row.account_number,
      expectedAccountName: row.expected_account_name,
      accountName: row.account_name,
      result: row.result,
    }));
  }
}

interface ValidationRow extends Record<string, unknown> {
  row_number: number;
  bank_code: string | null;
  reference: string | null;
  account_number: string | null;
  expected_account_name: string | null;
  account_name: string | null;
  result: string | null;
}

export async function storeErasedRow(database: Database, row: StoredValidationRow): Promise<void> {
  await database.query(
    `update tiba.account_validation_rows
        set reference = $4, account_number = $5, expected_account_name = $6, account_name = $7
      where client_id = $1 and validation_id = $2 and row_number = $3`,
    [
      row.clientId,
      row.validationId,
      row.rowNumber,
      row.reference,
      row.accountNumber,
      row.expectedAccountName,
      row.accountName,
    ],
  );
}

/** As those of accounts have. */
const HASH_BYTES = 16;

/**
 * Replaces the account hashes of up to `limit` audit records by random ones: they still count as checks of some
 * account. Returns how many there were.
 */
export async function eraseAccountHashes(
  database: Database,
  accountHashes: readonly string[],
  limit: number,
): Promise<number> {
  const rows = await database.query<{ client_id: string; checked_at: string; check_id: string }>(
    `select client_id, checked_at::text as checked_at, check_id from tiba.account_checks
      where account_hash = any ($1::bytea[]) limit $2`,
    [accountHashes.map((hash) => Buffer.from(hash, 'hex')), limit],
  );
  const checks = rows.map((row) => ({ clientId: row.client_id, checkedAt: row.checked_at, checkId: row.check_id }));
  await byClient(database, checks, async (own, ofClients) => {
    await own.query(
      `update tiba.account_checks a set account_hash = k.account_hash
         from unnest($1::text[], $2::timestamptz[], $3::bigint[], $4::bytea[])
           as k (client_id, checked_at, check_id, account_hash)
        where a.client_id = k.client_id collate "C" and a.checked_at = k.checked_at and a.check_id = k.check_id
              ${ofClient('a')}`,
      [
        ofClients.map(({ clientId }) => clientId),
        ofClients.map(({ checkedAt }) => checkedAt),
        ofClients.map(({ checkId }) => checkId),
        ofClients.map(() => randomBytes(HASH_BYTES)),
      ],
    );
  });
  return rows.length;
}
