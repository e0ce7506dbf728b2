import pg from 'pg';
import { NUMBER, NUMBER_DIGITS } from '../load/load.ts';
import { prototypeRows } from './prototypes.ts';
import { vacuumAsInProduction } from './statistics.ts';

const ROWS_PER_STATEMENT = 50_000;

export interface FillOptions {
  readonly connectionString: string;
  /** How many transactions, numbered from 0. */
  readonly rows: number;
  readonly signal: AbortSignal;
  readonly onProgress: (rows: number) => void;
}

/** Fills the table of transactions, whose client must exist, and then vacuums and analyzes it as in production. */
export async function fillTransactions({ connectionString, rows, signal, onProgress }: FillOptions): Promise<void> {
  const client = new pg.Client({ connectionString });
  // Without a listener, a connection lost between two statements would end this process; the next statement reports it.
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query('begin');
    // Rows that are written in the transaction that truncates the table need no write-ahead log (wal_level = minimal).
    await client.query('truncate tiba.transactions cascade');
    // Turns foreign key checks off, which would double the time: there is only one client, and it exists.
    await client.query('set local session_replication_role = replica');
    const prototypes = prototypeRows();
    for (let from = 0; from < rows; from += ROWS_PER_STATEMENT) {
      signal.throwIfAborted();
      const to = Math.min(from + ROWS_PER_STATEMENT, rows);
      await client.query(FILL, [from, to - 1, JSON.stringify(prototypes), prototypes.length, NUMBER, NUMBER_DIGITS]);
      onProgress(to);
    }
    await client.query('commit');
    signal.throwIfAborted();
    await vacuumAsInProduction(client);
    await client.query('checkpoint');
  } finally {
    await client.end();
  }
}

const FILL = `
insert into tiba.transactions
  (client_id, transaction_id, reference_id, status, amount, fee, currency, bank_code, bank_name, account_number,
   account_name, description, created_at, processed_at, failure_reason, version, expected_by, rendered)
select client_id, replace(transaction_id, $5, digits), replace(reference_id, $5, digits), status, amount, fee, currency,
       bank_code, bank_name, replace(account_number, $5, digits), account_name, replace(description, $5, digits),
       created_at, processed_at, failure_reason, version, expected_by, rendered
  from generate_series($1::bigint, $2::bigint) as number
  cross join lateral lpad(number::text, $6::integer, '0') as digits
  join json_to_recordset($3::json) as prototype (
    ordinal bigint, client_id text, transaction_id text, reference_id text, status text, amount numeric, fee numeric,
    currency text, bank_code text, bank_name text, account_number text, account_name text, description text,
    created_at timestamptz, processed_at timestamptz, failure_reason text,
    version integer, expected_by timestamptz, rendered text)
    on prototype.ordinal = number % $4::bigint`;
