import type { BenchContext } from '../bench-context.ts';
import type { BenchDatabase } from '../database/databases.ts';
import { fillInSteps } from '../database/fill-in-steps.ts';
import { fillLists } from './fill-lists.ts';

export const CLIENTS = 200;
/** The transactions are spread evenly over this time before `END`. */
export const DAYS = 30;
const HOUR_MS = 3_600_000;
/** The hour in which the run began: retention then removes nothing, and a search of the last days finds some. */
const END = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS).toISOString();
/** Amounts are multiples of 500, and one in ten is the same. */
const AMOUNTS = 20_000;
/** Of this many transactions, one had its account checked before. */
const CHECKS_OF_TRANSACTIONS = 10;

/** The transaction with this number, as `FILL` makes it. */
export function transactionOf(number: number, rows: number) {
  const createdMs = Date.parse(END) - ((rows - 1 - number) * DAYS * 86_400_000) / rows;
  return {
    clientId: `client-${number % CLIENTS}`,
    transactionId: `TB${String(number).padStart(12, '0')}`,
    referenceId: `INV/2026/${number}`,
    railReference: `P${String(number).padStart(14, '0')}`,
    bankReference: `BCA${String(number).padStart(14, '0')}`,
    externalId: `X${String(number).padStart(14, '0')}`,
    requestId: `request-${number - (number % CHECKS_OF_TRANSACTIONS)}`,
    accountNumber: `1${String((number * 7919) % 1_000_003).padStart(9, '0')}`,
    amount: number % 10 === 0 ? 50_000 : 1_000 + ((number * 7919) % AMOUNTS) * 500,
    // In Jakarta.
    day: new Date(createdMs + 7 * HOUR_MS).toISOString().slice(0, 10),
    createdMs,
  };
}

/** Creates a database of transactions of many clients that differ in what the operator searches by. */
export const makeSearchDatabase = (context: BenchContext, rows: number): Promise<BenchDatabase> =>
  fillInSteps(context, {
    name: 'search',
    rows,
    sql: FILL,
    values: [rows],
    tables: ['tiba.events', 'tiba.account_checks', 'tiba.callback_outbox', 'tiba.callback_attempts'],
    async prepare(client) {
      await client.query(
        `insert into tiba.clients (client_id, name, secret_hash, scopes)
         select 'client-' || n, 'x', '\\x00', '{}' from generate_series(0, $1::integer - 1) as n`,
        [CLIENTS],
      );
      await client.query(
        `insert into tiba.event_sequences (client_id, last_sequence)
         select 'client-' || n, $2::bigint / $1 + 1 from generate_series(0, $1::integer - 1) as n`,
        [CLIENTS, rows],
      );
    },
    async complete(client) {
      context.logProgress('filling what the lists show …');
      await fillLists(client, {
        rows,
        clients: CLIENTS,
        end: END,
        days: DAYS,
        checksOf: CHECKS_OF_TRANSACTIONS,
        secretKey: context.secretKey,
      });
    },
  });

// Each transaction has an event, whose callback was sent once. Those of a client have the sequences from 1.
const FILL = `
with made as materialized (
  select number, 'client-' || number % ${CLIENTS} as client_id, 'TB' || lpad(number::text, 12, '0') as transaction_id,
         case when number % 10000 = 7 then 'PROCESS' when number % 20 = 3 then 'FAILED' else 'SUCCESS' end as status,
         timestamptz '${END}' - ($3::bigint - 1 - number) * (interval '${DAYS} days' / $3::bigint) as created_at
    from generate_series($1::bigint, $2::bigint) as number
), inserted as (
  insert into tiba.transactions
    (client_id, transaction_id, reference_id, status, amount, fee, currency, bank_code, bank_name, account_number,
     account_name, description, created_at, processed_at, failure_reason, version, expected_by, overdue_since, rail,
     rail_reference, bank_reference, external_id, rendered)
  select client_id, transaction_id, 'INV/2026/' || number, status,
         case when number % 10 = 0 then 50000 else 1000 + number * 7919 % ${AMOUNTS} * 500 end, 2500, 'IDR', '014',
         'Bank Central Asia', '1' || lpad((number * 7919 % 1000003)::text, 9, '0'), 'BUDI SANTOSO', 'Refund', created_at,
         case when status <> 'PROCESS' then created_at + interval '5 seconds' end,
         case when status = 'FAILED' then 'ACCOUNT_BLOCKED: The account is blocked' end, 1,
         case when status = 'PROCESS' then timestamptz '2099-11-21T05:02:26Z' end,
         case when status = 'PROCESS' then created_at + interval '30 minutes' end, 'bank',
         'P' || lpad(number::text, 14, '0'), 'BCA' || lpad(number::text, 14, '0'),
         'X' || lpad(number::text, 14, '0'), rpad('', 80, 'x')
    from made
), sent as (
  insert into tiba.callback_attempts
    (client_id, endpoint_id, sequence, started_at, duration_ms, attempt, http_status)
  select client_id, 'ep_' || lpad(to_hex(number % ${CLIENTS}), 20, '0'), number / ${CLIENTS} + 1,
         created_at + interval '6 seconds', 20, 1, 200
    from made
)
insert into tiba.events (client_id, sequence, occurred_at, version, subject_id, kind)
select client_id, number / ${CLIENTS} + 1, created_at + interval '5 seconds', 1, transaction_id,
       (case status when 'PROCESS' then 'disbursement.overdue' when 'FAILED' then 'disbursement.failed'
                    else 'disbursement.succeeded' end)::tiba.event_kind
  from made`;
