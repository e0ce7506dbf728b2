import type { BenchContext } from '../bench-context.ts';
import type { BenchDatabase } from '../database/databases.ts';
import { fillInSteps } from '../database/fill-in-steps.ts';
import { CLIENT_ID } from '../database/prototypes.ts';

export const CLIENTS = 1_000;
/** The transactions are spread evenly over this time before `END_MS`. */
const DAYS = 10;
const DAY_MS = 86_400_000;
const END_MS = Date.now();
/**
 * Retention removes a day's transactions, whose events were removed before, and the events of the next day: as in
 * production, where events are kept for a shorter time.
 */
export const TRANSACTIONS_REMOVED_BEFORE = new Date(END_MS - (DAYS - 1) * DAY_MS).toISOString();
export const EVENTS_REMOVED_BEFORE = new Date(END_MS - (DAYS - 2) * DAY_MS).toISOString();
/** Of ten transactions, one is of the client that sends the requests. */
const SHARE = 10;
/** Every account is paid some ten times. */
const ACCOUNTS_SHARE = 10;

export interface ScaleDatabase extends BenchDatabase {
  /** Transactions of all clients. `rows` counts those of the client that sends the requests. */
  readonly allRows: number;
}

/** The transaction with this number, of the client that sends the requests, as `FILL` makes it. */
export const transactionOf = (number: number, allRows: number) => ({
  transactionId: `TB${String(number).padStart(10, '0')}`,
  referenceId: `INV/2026/${number}`,
  accountNumber: accountOf(number * SHARE, allRows),
});

const accountOf = (number: number, allRows: number): string =>
  String((number * 7919) % Math.ceil(allRows / ACCOUNTS_SHARE)).padStart(10, '0');

/**
 * Creates a database of finished transactions with their events. The number of a client's transactions follows Zipf's
 * law: the second client has half as many as the first, the third a third, …
 */
export async function makeScaleDatabase(context: BenchContext, name: string, allRows: number): Promise<ScaleDatabase> {
  const filled = await fillInSteps(context, {
    name,
    rows: allRows,
    sql: FILL,
    values: [allRows, CLIENTS, CLIENT_ID],
    tables: ['tiba.events'],
    prepare: async (client) => {
      await client.query('truncate tiba.event_sequences');
      await client.query(
        `insert into tiba.clients (client_id, name, secret_hash, scopes)
         select 'client-' || n, 'x', '\\x00', '{}' from generate_series(2, $1::integer) as n`,
        [CLIENTS],
      );
      // The events of a client have gaps here, which nothing that is measured looks at.
      await client.query(
        'insert into tiba.event_sequences (client_id, last_sequence) select client_id, $1 from tiba.clients',
        [allRows],
      );
    },
  });
  return { ...filled, rows: Math.ceil(allRows / SHARE), allRows };
}

// A tenth of the transactions are of the first client. The rank of the others' client is drawn from 2 to $4: the
// logarithm of a rank is spread evenly.
const FILL = `
with made as (
  select number, created_at,
         case when own then $5 else 'client-' || floor(2 * exp(drawn * ln($4::float8 / 2)))::bigint end as client_id,
         case when own then 'TB' || lpad((number / ${SHARE})::text, 10, '0')
              else 'TC' || lpad(number::text, 10, '0') end as transaction_id,
         case when own then 'INV/2026/' || number / ${SHARE} else 'INV/2025/' || number end as reference_id,
         lpad((number * 7919 % ceil($3::float8 / ${ACCOUNTS_SHARE})::bigint)::text, 10, '0') as account_number
    from generate_series($1::bigint, $2::bigint) as number
   cross join lateral (select number % ${SHARE} = 0 as own, number * 7919 % 1000003 / 1000003.0::float8 as drawn) as d
   cross join lateral (
     select timestamptz '${new Date(END_MS).toISOString()}' - ($3::bigint - number) * (interval '${DAYS} days' / $3::bigint)
              as created_at) as t
), inserted as (
  insert into tiba.transactions
    (client_id, transaction_id, reference_id, status, amount, fee, currency, bank_code, bank_name, account_number,
     account_name, description, created_at, processed_at, version, rendered)
  select client_id, transaction_id, reference_id, 'SUCCESS', 150000, 2500, 'IDR', '014', 'Bank Central Asia',
         account_number, 'BUDI SANTOSO', 'Refund', created_at, created_at + interval '5 seconds', 1,
         concat_ws(E'\\x02', '150000', '2500', '2500', '2026-11-21T04:32:26.123Z', '31.402Z')
    from made
)
insert into tiba.events (client_id, sequence, occurred_at, version, subject_id, kind)
select client_id, number + 1, created_at + interval '5 seconds', 1, transaction_id, 'disbursement.succeeded'
  from made where created_at >= timestamptz '${TRANSACTIONS_REMOVED_BEFORE}'`;
