import type pg from 'pg';
import { createSeal, generateSecret } from '../../apps/server/src/auth/secrets.ts';
import bankEntries from '../../apps/server/src/domain/banks.json' with { type: 'json' };

export interface ListSizes {
  /** Of transactions. */
  readonly rows: number;
  readonly clients: number;
  /** When the last transaction was created, and how many days before it the first one. */
  readonly end: string;
  readonly days: number;
  /** Of this many transactions, one had its account checked before. */
  readonly checksOf: number;
  /** Of the service, in base64: it starts only where it can open what is sealed. */
  readonly secretKey: string;
}

const ACTIONS = 100_000;
const PROPOSALS = 10_000;
const SESSIONS = 10_000;
const LIVE_SESSIONS = 100;
const PEOPLE = 50;
const REPLAYS = 10_000;
/** Bulk validations that have ended, and those that run. */
const ENDED_VALIDATIONS = 20_000;
const RUNNING_VALIDATIONS = 200;
const PENDING_CALLBACKS = 10_000;
const BANKS = 100;
const BANK_DAYS = 90;

/** Fills what the operator's lists show, in relation to the transactions as after months of operation. */
export async function fillLists(client: pg.Client, sizes: ListSizes): Promise<void> {
  await fillTransactionLists(client, sizes);
  await fillCallbacks(client, sizes);
  await fillOperators(client, sizes);
  await client.query(
    `insert into tiba.account_validations
       (client_id, validation_id, state, row_count, last_sequence, created_at, ended_at)
     select 'client-' || n % $1, 'av_' || lpad(to_hex(n), 20, '0'), case when is_running then 'RUNNING' else 'COMPLETED' end,
            1000, case when is_running then 0 else 1000 end, at, case when not is_running then at end
       from generate_series(1, ${ENDED_VALIDATIONS + RUNNING_VALIDATIONS}) as n
      cross join lateral (select n > ${ENDED_VALIDATIONS} as is_running,
        $2::timestamptz - (${ENDED_VALIDATIONS + RUNNING_VALIDATIONS} - n) * interval '1 minute' as at) as made`,
    [sizes.clients, sizes.end],
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

async function fillTransactionLists(
  client: pg.Client,
  { rows, clients, end, days, checksOf }: ListSizes,
): Promise<void> {
  // Transactions that their bank does not know. Few are in PROCESS.
  await client.query(
    `insert into tiba.status_inquiries
       (client_id, transaction_id, rail, next_at, last_inquired_at, attempts, unknown_since, review_since)
     select client_id, transaction_id, rail, '2099-01-01', created_at, 4, created_at, created_at
       from tiba.transactions where status = 'PROCESS'`,
  );
  // A minute before the transaction with the same number.
  await client.query(
    `insert into tiba.account_checks (client_id, checked_at, check_id, bic, account_hash, outcome, rail, request_id)
     select 'client-' || number % $2, $4::timestamptz - ($1 - 1 - number) * (interval '1 day' * $5::integer / $1) - interval '1 minute',
            number, 'CENAIDJA', substr(sha256(number::text::bytea), 1, 16), 'ACTIVE', 'bank', 'request-' || number
       from generate_series(0, $1::bigint - 1, $3::bigint) as number`,
    [rows, clients, checksOf, end, days],
  );
}

async function fillCallbacks(client: pg.Client, sizes: ListSizes): Promise<void> {
  const { rows, clients, end, secretKey } = sizes;
  await client.query(
    `insert into tiba.callback_endpoints (client_id, endpoint_id, url, kinds, secret_sealed, failing_since)
     select 'client-' || n, 'ep_' || lpad(to_hex(n), 20, '0'), 'https://callbacks.example.com/', '{}', $3,
            case when n % 2 = 0 then $2::timestamptz end
       from generate_series(0, $1::integer - 1) as n`,
    [clients, end, createSeal(Buffer.from(secretKey, 'base64')).seal(generateSecret())],
  );
  // One in a hundred callbacks was given up, after ten attempts.
  await client.query(
    `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at, ended_at, attempts, state)
     select 'client-' || n % $2, 'ep_' || lpad(to_hex(n % $2), 20, '0'), n / $2 * 100 + 1, at, at, 10, 'exhausted'
       from generate_series(0, $1::integer / 100 - 1) as n
      cross join (select $3::timestamptz as at) as made`,
    [rows, clients, end],
  );
  await client.query(
    `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at, attempts)
     select 'client-' || n % $2, 'ep_' || lpad(to_hex(n % $2), 20, '0'), n / $2 * 100 + 2, '2099-01-01', 1
       from generate_series(0, least($1::integer / 100, ${PENDING_CALLBACKS}) - 1) as n`,
    [rows, clients],
  );
  await client.query(
    `insert into tiba.callback_replays
       (client_id, replay_id, first_sequence, last_sequence, state, idempotency_key, request_sha256, created_by,
        created_at, ended_at)
     select 'client-' || n % $1, 'rp_' || lpad(to_hex(n), 20, '0'), 1, 1000, 'COMPLETED', 'key-' || n, sha256('x'),
            'client-' || n % $1, at, at
       from generate_series(1, ${REPLAYS}) as n
      cross join lateral (select $2::timestamptz - (${REPLAYS} - n) * interval '1 minute' as at) as made`,
    [clients, end],
  );
  await client.query(
    `insert into tiba.callback_replay_endpoints (client_id, replay_id, endpoint_id, after_sequence, outcome)
     select client_id, replay_id, 'ep_' || lpad(to_hex(substr(client_id, 8)::integer), 20, '0'), 1000, 'completed'
       from tiba.callback_replays`,
  );
}

async function fillOperators(client: pg.Client, { clients, end }: ListSizes): Promise<void> {
  await fillActions(client, clients, end);
  await client.query(
    `insert into tiba.operator_proposals
       (proposal_id, kinds, action, client_id, payload, payload_hash, reason, proposer, proposer_name,
        proposer_session, proposer_role, origin, created_at, expires_at, state, decided_by, decided_by_name, decided_at,
        decision_reason)
     select 'pr_' || lpad(to_hex(n), 20, '0'), '{limits}', 'client change', 'client-' || n % $1, '{}', sha256('x'),
            'Ticket', 'person:' || n % ${PEOPLE}, 'x', 'os_1', 'engineer', '10.0.0.7', at, at + interval '1 day',
            case when is_pending then 'pending' else 'executed' end,
            case when not is_pending then 'person:another' end, case when not is_pending then 'x' end,
            case when not is_pending then at end, case when not is_pending then 'Right' end
       from generate_series(1, ${PROPOSALS}) as n
      cross join lateral (select n > ${PROPOSALS} - 20 as is_pending,
        $2::timestamptz - (${PROPOSALS} - n) * interval '30 minutes' as at) as made`,
    [clients, end],
  );
  // Most of them have ended. The last ones are in use as long as the run takes.
  await client.query(
    `insert into tiba.operator_sessions
       (session_id, secret_hash, subject, name, role, origin, created_at, last_used_at, expires_at)
     select 'os_' || lpad(to_hex(n), 20, '0'), sha256(n::text::bytea), 'person-' || n % ${PEOPLE}, 'x', 'engineer',
            '10.0.0.7', at, case when n > ${SESSIONS - LIVE_SESSIONS} then now() + interval '1 day' else at end,
            at + interval '1 day'
       from generate_series(1, ${SESSIONS}) as n
      cross join lateral (select $1::timestamptz - (${SESSIONS} - n) * interval '4 minutes' as at) as made`,
    [end],
  );
}

/** All at once and without their chain, which the lists do not read. */
async function fillActions(client: pg.Client, clients: number, end: string): Promise<void> {
  await client.query('alter table tiba.operator_actions disable trigger user');
  await client.query(
    `insert into tiba.operator_actions
       (sequence, happened_at, actor, origin, action, client_id, subject_id, reason, previous_hash, hash)
     select n, $2::timestamptz - (${ACTIONS} - n) * interval '1 minute', 'actor-' || n % ${PEOPLE}, '10.0.0.7',
            'transaction unmask', 'client-' || n % $1, 'TB' || lpad(n::text, 12, '0'), 'Ticket',
            sha256('x'), sha256('x')
       from generate_series(1, ${ACTIONS}) as n`,
    [clients, end],
  );
}

/** BCA is among them: it is measured by itself. */
const BICS = [...new Set(['CENAIDJA', ...bankEntries.flatMap(({ bic }) => (bic === null ? [] : [bic]))])].slice(
  0,
  BANKS,
);
