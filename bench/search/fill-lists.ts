import type pg from 'pg';

export interface ListSizes {
  /** Of transactions. */
  readonly rows: number;
  readonly clients: number;
  /** When the last transaction was created. */
  readonly end: string;
  /** Of this many transactions, one had its account checked before. */
  readonly checksOf: number;
}

const ACTIONS = 100_000;
const BANKS = 100;
const BANK_DAYS = 90;

/** Fills what the operator's lists show, in relation to the transactions as after months of operation. */
export async function fillLists(client: pg.Client, { rows, clients, end, checksOf }: ListSizes): Promise<void> {
  // Transactions that their bank does not know. Few are in PROCESS.
  await client.query(
    `insert into tiba.status_inquiries (client_id, transaction_id, rail, next_at, unknown_since, review_since)
     select client_id, transaction_id, rail, '2099-01-01', created_at, created_at
       from tiba.transactions where status = 'PROCESS'`,
  );
  await client.query(
    `insert into tiba.account_checks (client_id, checked_at, check_id, bic, account_hash, outcome, rail, request_id)
     select 'client-' || number % $2, timestamptz '${end}' - (number % 2592000) * interval '1 second', number,
            'CENAIDJA', sha256(number::text::bytea), 'ACTIVE', 'bank', 'request-' || number
       from generate_series(0, $1::bigint - 1, $3::bigint) as number`,
    [rows, clients, checksOf],
  );
  await client.query(
    `insert into tiba.callback_endpoints (client_id, endpoint_id, url, kinds, secret_sealed, failing_since)
     select 'client-' || n, 'ep_' || lpad(to_hex(n), 20, '0'), 'https://callbacks.example.com/', '{}', '\\x00',
            case when n % 2 = 0 then timestamptz '${end}' end
       from generate_series(0, $1::integer - 1) as n`,
    [clients],
  );
  // One in a hundred callbacks was given up.
  await client.query(
    `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at, ended_at, attempts, state)
     select 'client-' || n % $2, 'ep_' || lpad(to_hex(n % $2), 20, '0'), n, '${end}', '${end}', 10, 'exhausted'
       from generate_series(1, $1::bigint / 100) as n`,
    [rows, clients],
  );
  // All at once and without their chain, which the lists do not read.
  await client.query('alter table tiba.operator_actions disable trigger user');
  await client.query(
    `insert into tiba.operator_actions
       (sequence, happened_at, actor, origin, action, client_id, subject_id, reason, previous_hash, hash)
     select n, timestamptz '${end}' - (${ACTIONS} - n) * interval '1 minute', 'actor-' || n % 50, '10.0.0.7',
            'transaction unmask', 'client-' || n % $1, 'TB' || lpad(n::text, 12, '0'), 'Ticket',
            sha256('x'), sha256('x')
       from generate_series(1, ${ACTIONS}) as n`,
    [clients],
  );
  await client.query(
    `insert into tiba.account_validations (client_id, validation_id, row_count)
     select 'client-' || n % $1, 'av_' || lpad(to_hex(n), 20, '0'), 1000 from generate_series(1, 200) as n`,
    [clients],
  );
  await client.query(
    `insert into tiba.bank_hours (hour, bic, outcome, inquiries, durations)
     select date_trunc('hour', now(), 'UTC') - hours * interval '1 hour', bic, outcome, 100, array_fill(3, array[41])
       from generate_series(0, ${BANK_DAYS * 24 - 1}) as hours
      cross join unnest($1::text[]) as bic
      cross join unnest(array['verdict', 'timeout']) as outcome`,
    [BICS],
  );
}

/** BCA is among them: it is measured by itself. */
const BICS = ['CENAIDJA', ...Array.from({ length: BANKS - 1 }, (_, index) => `BANK${String(index).padStart(4, '0')}`)];
