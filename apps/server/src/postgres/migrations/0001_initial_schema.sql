-- runs with: 0001_initial_schema.sql
--
-- Every table that belongs to a client has client_id in its key, so that a distributed PostgreSQL can keep a client's
-- rows together and no query of the public API crosses clients. Identifiers compare byte by byte (collate "C").

-- Marks what this database holds, so that a sandbox never fills a production database with demo data and production
-- never serves from a sandbox.
create table tiba.installation (
  single boolean not null default true,
  environment text not null,
  -- Keys of account hashes and list cursors are derived from it. AES-256-GCM under TIBA_SECRET_KEY, like all that is
  -- sealed; the first 8 bytes are the ID of the key.
  data_key_sealed bytea,
  -- The key that seals now. All live processes have it.
  secret_key_id text collate "C",
  -- The archive's directory has it in a file: a disk that is not mounted is then noticed.
  installation_id uuid not null default gen_random_uuid(),
  constraint installation_pkey primary key (single),
  constraint installation_has_one_row check (single),
  constraint installation_data_key_with_its_key check ((data_key_sealed is null) = (secret_key_id is null)),
  constraint installation_environment_known check (environment in ('sandbox', 'production', 'staging'))
);

-- Each restore of a backup, as `npm run manage -- restored` records it. Events that are numbered afterwards are greater
-- than epoch * 100,000, and versions greater than epoch / 6, so that no number from the lost time comes again.
create table tiba.restores (
  -- When it was recorded, in seconds since 1970. Each is greater than the one before.
  epoch bigint not null,
  restored_at timestamptz not null default now(),
  -- The time up to which the backup holds what happened, to a few seconds; null when no process ran at that time.
  restored_to timestamptz,
  constraint restores_pkey primary key (epoch),
  constraint restores_epoch_positive check (epoch > 0)
);

-- The processes that share this database. Each renews its row every two seconds; the others remove the rows of dead
-- ones.
create table tiba.processes (
  -- Another one after each start.
  process_id uuid not null,
  host_name text not null,
  pid integer not null,
  version text not null,
  started_at timestamptz not null default now(),
  heartbeat_at timestamptz not null default now(),
  -- From 0 to 1, since the heartbeat before.
  event_loop_utilization real not null,
  resident_bytes bigint not null,
  -- How far the clock of the process is ahead of this database's.
  clock_skew_ms integer,
  -- The ID of its TIBA_SECRET_KEY.
  secret_key_id text collate "C",
  constraint processes_pkey primary key (process_id)
) with (fillfactor = 50);

-- What one process at a time does, such as deleting old records.
create table tiba.leases (
  name text collate "C" not null,
  -- Another one after each start.
  holder uuid not null,
  ends_at timestamptz not null,
  constraint leases_pkey primary key (name)
) with (fillfactor = 50);

create table tiba.clients (
  client_id text collate "C" not null,
  name text not null,
  -- SHA-256 of a random 256-bit secret. A slow hash would only slow the login down: there is nothing to guess.
  secret_hash bytea not null,
  secret_created_at timestamptz not null default now(),
  -- While the secret is being replaced, the new one.
  second_secret_hash bytea,
  second_secret_created_at timestamptz,
  scopes text[] not null,
  check_status_per_minute integer,
  check_account_per_minute integer,
  -- How many different accounts the client may check in a day; null for the default of the installation.
  accounts_per_day integer,
  -- The enumeration guard does not restrict a trusted client, except for accounts_per_day.
  trusted boolean not null default false,
  -- Tokens issued before this time are revoked.
  tokens_valid_from timestamptz not null default '-infinity',
  disabled_at timestamptz,
  created_at timestamptz not null default now(),
  constraint clients_pkey primary key (client_id),
  constraint clients_check_status_per_minute_not_negative check (check_status_per_minute >= 0),
  constraint clients_check_account_per_minute_not_negative check (check_account_per_minute >= 0),
  constraint clients_accounts_per_day_not_negative check (accounts_per_day >= 0),
  constraint clients_second_secret_with_its_time
    check ((second_secret_hash is null) = (second_secret_created_at is null))
);

-- When a client last logged in with each of its secrets: at most one write a day. Apart from the clients, of which each
-- change is told to all processes.
create table tiba.client_secret_uses (
  client_id text collate "C" not null,
  -- Of the secret's hash.
  secret_id text collate "C" not null,
  used_on date not null,
  constraint client_secret_uses_pkey primary key (client_id, secret_id),
  constraint client_secret_uses_client_id_fkey foreign key (client_id) references tiba.clients
);

-- How a client uses the SNAP face (docs/snap-clients.md). A client without a row cannot use it.
create table tiba.snap_clients (
  client_id text collate "C" not null,
  -- The X-PARTNER-ID of its requests.
  partner_id text collate "C" not null,
  -- AES-256-GCM under TIBA_SECRET_KEY. A hash would not do: the secret itself verifies an HMAC.
  secret_sealed bytea,
  -- After a rotation the former secret signs as well, until this time.
  former_secret_sealed bytea,
  former_secret_until timestamptz,
  -- strict: X-EXTERNAL-ID is numeric and unique in a day.
  external_ids text not null default 'strict',
  -- What the client's signatures hash: the body as sent or minified, or without any whitespace.
  body_hash text not null default 'minified',
  clock_skew_seconds integer not null default 300,
  constraint snap_clients_pkey primary key (client_id),
  constraint snap_clients_client_id_fkey foreign key (client_id) references tiba.clients,
  constraint snap_clients_partner_id_key unique (partner_id),
  constraint snap_clients_external_ids_known check (external_ids in ('strict', 'off')),
  constraint snap_clients_body_hash_known check (body_hash in ('minified', 'without_whitespace')),
  constraint snap_clients_clock_skew_in_range check (clock_skew_seconds between 1 and 86400),
  constraint snap_clients_former_secret_with_its_end
    check ((former_secret_sealed is null) = (former_secret_until is null))
);

-- The RSA public keys that verify a client's asymmetric signatures; several at a time, so that a key can be replaced.
create table tiba.snap_public_keys (
  client_id text collate "C" not null,
  -- Of the key's SHA-256.
  key_id text collate "C" not null,
  -- PEM, SubjectPublicKeyInfo.
  public_key text not null,
  created_at timestamptz not null default now(),
  constraint snap_public_keys_pkey primary key (client_id, key_id),
  constraint snap_public_keys_client_id_fkey foreign key (client_id) references tiba.snap_clients
);

-- The X-EXTERNAL-IDs that clients have used on a day in Jakarta: each may be used once. They are deleted after two
-- days.
create table tiba.snap_external_ids (
  client_id text collate "C" not null,
  used_on date not null,
  external_id text collate "C" not null,
  constraint snap_external_ids_pkey primary key (client_id, used_on, external_id)
);
create index snap_external_ids_used_on on tiba.snap_external_ids (used_on);

create table tiba.signing_keys (
  key_id text collate "C" not null,
  algorithm text not null,
  public_jwk json not null,
  -- AES-256-GCM under TIBA_SECRET_KEY.
  private_jwk_sealed bytea not null,
  created_at timestamptz not null default now(),
  -- A retired key signs no new token. Tokens that it signed stay valid until they expire.
  retired_at timestamptz,
  constraint signing_keys_pkey primary key (key_id)
);

-- Every process caches the clients and the signing keys. The notification tells it which of them to read again.
create function tiba.notify_change() returns trigger language plpgsql as $$
begin
  perform pg_notify(tg_argv[0], '');
  return null;
end
$$;

create trigger clients_changed after insert or update or delete on tiba.clients
  for each statement execute function tiba.notify_change('tiba_clients');

create trigger restores_changed after insert on tiba.restores
  for each statement execute function tiba.notify_change('tiba_restores');

create trigger snap_clients_changed after insert or update or delete on tiba.snap_clients
  for each statement execute function tiba.notify_change('tiba_clients');

create trigger snap_public_keys_changed after insert or update or delete on tiba.snap_public_keys
  for each statement execute function tiba.notify_change('tiba_clients');

create trigger signing_keys_changed after insert or update or delete on tiba.signing_keys
  for each statement execute function tiba.notify_change('tiba_signing_keys');

-- Which ten seconds, from 1970 on: for the index transactions_final_time_slot. All times before the year 1290 are one
-- slot, and all after 2650, because an integer counts no further.
create function tiba.time_slot(instant timestamptz) returns integer language sql immutable strict parallel safe
  return greatest(-2147483648, least(2147483647,
    floor(date_part('epoch', instant - timestamptz '1970-01-01 00:00:00+00') / 10)))::integer;

-- No row references its client or is referenced by a key: each check would cost the feed as much as an index, and
-- clients are never deleted.
create table tiba.transactions (
  -- Columns of a fixed width come first, so that nothing has to be aligned between texts.
  created_at timestamptz not null,
  processed_at timestamptz,
  -- When the bank returned the money after SUCCESS. The status stays SUCCESS.
  reversed_at timestamptz,
  -- When the bank is expected to have finished, and since when it is late. Final rows have no expected_by: it says when
  -- to look at a transaction that is not final.
  expected_by timestamptz,
  overdue_since timestamptz,
  -- The status updates that created the transaction and that made it final (status_messages), where there is nothing to
  -- say about them.
  inserted_by bigint,
  advanced_by bigint,
  -- Grows by one with each event of the transaction.
  version integer not null default 1,
  client_id text collate "C" not null,
  transaction_id text collate "C" not null,
  reference_id text collate "C" not null,
  status text not null,
  amount numeric(20, 2) not null,
  fee numeric(20, 2) not null,
  currency text not null,
  bank_code text not null,
  bank_name text not null,
  account_number text not null,
  account_name text not null,
  description text not null,
  failure_reason text,
  -- The amounts and times of the response as it shows them, so that a status check only copies them
  -- (postgres/rendered-transactions.ts).
  rendered text not null,
  -- The rail that carries the transfer, and the transfer's reference there: the bank is asked with these.
  rail text,
  rail_reference text collate "C",
  -- Of the order, as the SNAP face and receipts show it.
  source_account_number text,
  service_code text,
  external_id text collate "C",
  bank_reference text collate "C",
  constraint transactions_amount_positive check (amount > 0),
  constraint transactions_fee_not_negative check (fee >= 0),
  constraint transactions_version_positive check (version > 0),
  constraint transactions_rail_with_its_reference check ((rail is null) = (rail_reference is null))
) partition by list (status);
-- A new transaction is inserted here, also one that is final already. The update that makes it final deletes its row
-- here and writes its final one, so final rows are written once, and what is dead does not depend on how many there are
-- (docs/decisions/0050-final-transactions-apart.md).
create table tiba.transactions_in_process partition of tiba.transactions (
  expected_by not null,
  constraint transactions_in_process_without_end
    check (processed_at is null and failure_reason is null and reversed_at is null)
) for values in ('PROCESS')
  -- Rows stay for seconds, and the space of dead ones is used again after a vacuum (docs/decisions/0062). It does not
  -- share the limit of cost of the vacuums that run beside it. The file is not cut off: what is free at its end is
  -- needed at once, and cutting it locks out status checks and feeds. Statistics are renewed when the rows have been
  -- replaced a few times, not after each tenth of them: every row is new after seconds, and looks like the one before.
  with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
        vacuum_truncate = false, autovacuum_analyze_scale_factor = 5);
create table tiba.transactions_final partition of tiba.transactions (
  processed_at not null,
  constraint transactions_final_reason_only_if_failed check ((status = 'FAILED') = (failure_reason is not null)),
  constraint transactions_final_reversed_only_after_success check (reversed_at is null or status = 'SUCCESS')
) for values in ('SUCCESS', 'FAILED')
  -- A retention begins with the oldest rows, so it steps over the index entries of all that it deleted since the last
  -- vacuum. By default that comes when a fifth of a table is dead: of 400 million rows, after 80 million. The other
  -- tables from which the oldest rows go have this as well.
  with (autovacuum_vacuum_scale_factor = 0.01);
-- SNAP's status inquiry may name nothing but the order's X-EXTERNAL-ID. external_id comes first, as above.
create index transactions_external_id on tiba.transactions (external_id, client_id, created_at)
  where external_id is not null;
create index transactions_expected_by on tiba.transactions_in_process (expected_by) with (deduplicate_items = off)
  where overdue_since is null;
create index transactions_overdue_since on tiba.transactions_in_process (overdue_since)
  where overdue_since is not null;
-- A client lists its transactions, the newest first (postgres/transaction-list.ts). A list of every status merges scans
-- for each of them, so that no second index of all transactions is needed. The first letter tells the two final ones
-- apart.
-- These and other indexes have the hash of the client, which takes fewer bytes than its ID, and costs a feed less to
-- compare. A statement reads them only where it names the hash: one that looks up a key would have an index of
-- client_id read too, by client_id alone, when its plan is made for a table that is small and that was not analyzed.
-- No two entries are equal, so a full page has nothing to deduplicate before it is split.
create index transactions_in_process_list
  on tiba.transactions_in_process (hashtext(client_id), created_at, transaction_id collate "POSIX")
  with (deduplicate_items = off);
create index transactions_final_list
  on tiba.transactions_final (hashtext(client_id), (status::"char"), created_at, transaction_id collate "POSIX")
  with (deduplicate_items = off);
-- An account in the operator's search over all clients, and in the list of one client. The hash of the account number
-- comes first, so that all its entries are side by side. Few transactions of a client with one account have the same
-- created_at.
create index transactions_account on tiba.transactions (hashtext(account_number), hashtext(client_id), created_at)
  with (deduplicate_items = off);
-- The operator searches over all clients (postgres/transaction-search.ts): the newest first.
create index transactions_in_process_created_at on tiba.transactions_in_process (created_at)
  with (deduplicate_items = off);
-- The same among final transactions, and an amount in a range of time. One index for both, because each costs a feed
-- and the disk as much as two columns here: the transactions of one slot are sorted by the search, or probed for the
-- amount. It has the hash of the amount because two integers take the bytes of one number.
create index transactions_final_time_slot
  on tiba.transactions_final (tiba.time_slot(created_at), hash_numeric(amount));
-- Most cores give the bank one of the two identifiers that have an index already.
create index transactions_rail_reference on tiba.transactions (rail_reference)
  where rail_reference <> transaction_id and rail_reference <> reference_id;
create index transactions_bank_reference on tiba.transactions (bank_reference) where bank_reference is not null;
-- By client_id and not by its hash: with two conditions for one client, PostgreSQL expects hardly any row, and then a
-- retention would read and sort all that are old. The condition is why no look-up by key reads it.
create index transactions_processed_at
  on tiba.transactions_final (client_id, processed_at, transaction_id collate "POSIX")
  with (deduplicate_items = off) where processed_at is not null;
-- Overdue transactions of all clients, the newest first, and of one client.
create index transactions_overdue_created_at on tiba.transactions_in_process (created_at, amount)
  where overdue_since is not null;
create index transactions_overdue
  on tiba.transactions_in_process (client_id, created_at, transaction_id collate "POSIX")
  where overdue_since is not null;
-- Look-ups by key. Some statements keep a plan that was made while the table was empty, or after a vacuum of the empty
-- table. All indexes look equally good then. With an index that has client_id and not the key, each look-up would read
-- all transactions of a client. So no such index may fit:
-- - PostgreSQL reads an index only for conditions with its collation. Look-ups by reference compare client_id with
--   collation "POSIX", which is the same as "C" but for its name, and so do the indexes of references. Lists compare
--   transaction_id with it, and so do the indexes of lists. All others have "C".
-- - Indexes with another condition than the statement do not fit either.
-- The keys come after the other indexes: of those that fit and look equally good, PostgreSQL takes the newest one.
-- client_id comes last in them: the operator's search, which does not know the client, can use them.
-- No transaction is in both tables: postgres/transaction-inserts.ts says why.
alter table tiba.transactions_in_process
  add constraint transactions_in_process_pkey primary key (transaction_id, client_id);
create unique index transactions_in_process_reference_id_key
  on tiba.transactions_in_process (reference_id, client_id collate "POSIX");
alter table tiba.transactions_final
  add constraint transactions_final_pkey primary key (transaction_id, client_id);
create unique index transactions_final_reference_id_key
  on tiba.transactions_final (reference_id, client_id collate "POSIX");

-- The messages of status updates as they were received: in each row those of one client and one source that were stored
-- together (docs/decisions/0044-each-fact-once.md).
create table tiba.status_messages (
  client_id text collate "C" not null,
  -- The first message has this ID and the others those that follow. Each row has a thousand IDs.
  first_status_update_id bigint generated always as identity (start with 1000 increment by 1000),
  received_at timestamptz not null default now(),
  -- Where they came from: the client_id of the feed, `rail:` and the rail that was asked, or `clock`.
  source text not null,
  -- JSON texts, one in each line, compressed with zstd (postgres/status-messages.ts).
  messages bytea not null,
  constraint status_messages_pkey primary key (client_id, first_status_update_id)
) with (autovacuum_vacuum_scale_factor = 0.01);
alter table tiba.status_messages alter column messages set storage external;
create index status_messages_received_at on tiba.status_messages (received_at);

-- The status updates of known transactions, except for those that transactions.inserted_by and advanced_by name.
create table tiba.other_status_updates (
  client_id text collate "C" not null,
  transaction_id text collate "C" not null,
  status_update_id bigint not null,
  outcome text not null,
  -- Why the update was not applied, or which of its fields were not.
  reason text,
  constraint other_status_updates_pkey primary key (client_id, transaction_id, status_update_id),
  constraint other_status_updates_outcome_known
    check (outcome in ('inserted', 'advanced', 'reversed', 'overdue', 'unchanged', 'conflict'))
);
-- A conflict may name another account than its transaction: who asks about an account has all of them read.
create index other_status_updates_conflicts on tiba.other_status_updates (client_id, transaction_id)
  where outcome = 'conflict';

-- Every status update that was received about a known transaction, with what came of it. source and received_at are
-- null when the message was removed after its retention time.
create view tiba.status_updates as
select u.client_id, u.transaction_id, u.status_update_id, m.source, u.outcome, u.reason, m.received_at
  from (select client_id, transaction_id, inserted_by as status_update_id, 'inserted' as outcome, null as reason
          from tiba.transactions
         where inserted_by is not null
        union all
        select client_id, transaction_id, advanced_by, 'advanced', null
          from tiba.transactions
         where advanced_by is not null
        union all
        select client_id, transaction_id, status_update_id, outcome, reason
          from tiba.other_status_updates) u
  left join tiba.status_messages m
    on m.client_id = u.client_id and m.first_status_update_id = u.status_update_id - u.status_update_id % 1000;

-- One row for each transaction in PROCESS whose rail supports status inquiries.
create table tiba.status_inquiries (
  client_id text collate "C" not null,
  transaction_id text collate "C" not null,
  -- Copied from the transaction, so that a backlog at one bank does not delay the inquiries at another.
  rail text collate "C" not null,
  -- When the next inquiry is due. A claim moves it ahead first, so that no other process claims the row meanwhile.
  next_at timestamptz not null,
  -- End of the claim's lease. The lease of a process that was killed ends by itself.
  claimed_until timestamptz,
  last_inquired_at timestamptz,
  -- Steps of the schedule that have passed: answered inquiries, without those that a reader caused.
  attempts integer not null default 0,
  -- Since when the bank has answered that it does not know the transfer.
  unknown_since timestamptz,
  -- Since when an operator has to look into it.
  review_since timestamptz,
  constraint status_inquiries_pkey primary key (client_id, transaction_id)
);
create index status_inquiries_next_at on tiba.status_inquiries (rail, next_at);
create index status_inquiries_review_since on tiba.status_inquiries (review_since)
  where review_since is not null;

-- The number and the time of the last event of each client. The row stays locked until the events are stored, so that
-- the numbers have no gaps and the times never go back.
create table tiba.event_sequences (
  client_id text collate "C" not null,
  last_sequence bigint not null,
  -- null before the first event.
  last_occurred_at timestamptz,
  -- Events up to this number were removed after their retention time, except for those with an open delivery.
  removed_up_to bigint not null default 0,
  -- The transactions that events up to this number ended are in the archive. Later events are not removed. null: there
  -- is no archive.
  archived_up_to bigint,
  -- Each change of the client's callback endpoints raises it, so that a statement that numbers events notices a change
  -- for which it has waited.
  endpoints_version integer not null default 0,
  constraint event_sequences_pkey primary key (client_id),
  constraint event_sequences_client_id_fkey foreign key (client_id) references tiba.clients
);

-- The number of the last event of each client that a restore kept. The client may have read greater numbers before.
create table tiba.restored_sequences (
  client_id text collate "C" not null,
  epoch bigint not null,
  last_sequence bigint not null,
  constraint restored_sequences_pkey primary key (client_id, epoch),
  constraint restored_sequences_client_id_fkey foreign key (client_id) references tiba.clients,
  constraint restored_sequences_epoch_fkey foreign key (epoch) references tiba.restores
);

-- domain/event.ts. An enum takes 4 bytes of an event, where its text takes 24.
create type tiba.event_kind as enum (
  'disbursement.succeeded', 'disbursement.failed', 'disbursement.overdue', 'disbursement.reversed',
  'account_validation.ended', 'bank.down', 'bank.up'
);

-- Columns of a fixed width come first, as in transactions.
create table tiba.events (
  sequence bigint not null,
  occurred_at timestamptz not null,
  -- The subject's version after the event.
  version integer not null,
  kind tiba.event_kind not null,
  client_id text collate "C" not null,
  -- A transaction, an account validation or a bank.
  subject_id text collate "C" not null,
  -- The subject as the API showed it at that time. null for a transaction that still looks the same.
  data text,
  constraint events_data_unless_of_a_transaction check (
    data is not null or kind in ('disbursement.succeeded', 'disbursement.failed', 'disbursement.overdue',
                                 'disbursement.reversed'))
) with (autovacuum_vacuum_scale_factor = 0.01);
-- Most cores count their transactions, or begin their IDs with the time: so a feed adds entries at the end of this
-- index, which costs it less than a hash index. Statements that use it compare client_id with collation "POSIX", as
-- look-ups by reference do: otherwise PostgreSQL may read all events of the client as well.
create index events_subject_id on tiba.events (subject_id);
-- The times of a client's events never go back, so the key finds events by time as well (postgres/event-times.ts).
-- Added after the other index: of two indexes that look equally good on an empty table, PostgreSQL takes the newer one.
alter table tiba.events add constraint events_pkey primary key (client_id, sequence);

create table tiba.callback_endpoints (
  client_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  url text not null,
  kinds text[] not null,
  -- AES-256-GCM under TIBA_SECRET_KEY.
  secret_sealed bytea not null,
  -- After a rotation the former secret signs as well, until this time.
  former_secret_sealed bytea,
  former_secret_until timestamptz,
  -- Since when no delivery has succeeded.
  failing_since timestamptz,
  disabled_at timestamptz,
  disabled_reason text,
  created_at timestamptz not null default now(),
  constraint callback_endpoints_pkey primary key (client_id, endpoint_id),
  constraint callback_endpoints_client_id_fkey foreign key (client_id) references tiba.clients,
  constraint callback_endpoints_disabled_reason_known
    check (disabled_reason in ('client', 'operator', 'gone', 'failing')),
  constraint callback_endpoints_disabled_with_reason check ((disabled_at is null) = (disabled_reason is null))
);
-- The operator lists these over all clients.
create index callback_endpoints_disabled_or_failing on tiba.callback_endpoints (client_id, endpoint_id)
  where disabled_at is not null or failing_since is not null;

-- The transactional outbox: one row for each event and endpoint from the first claim until it is delivered. Before, it
-- is in callback_outbox_ranges. Neither references an event, because it is inserted together with the event, and the
-- retention of events looks here; and no endpoint, because one is only ever disabled, and each check would cost a feed
-- as much as an index.
create table tiba.callback_outbox (
  sequence bigint not null,
  next_attempt_at timestamptz not null default now(),
  -- End of the claim's lease: until then no other process sends it. No index has this column, so that a claim changes
  -- no index.
  claimed_until timestamptz,
  -- When it was given up.
  ended_at timestamptz,
  -- All attempts so far. A replay goes on counting.
  attempts integer not null default 0,
  -- Attempts that do not count in the retry schedule: those before the last replay, which starts it again, and those
  -- whose lease ended without a result. So the position in the schedule is attempts - attempts_before.
  attempts_before integer not null default 0,
  client_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  state text not null default 'pending',
  constraint callback_outbox_pkey primary key (client_id, endpoint_id, sequence),
  constraint callback_outbox_state_known check (state in ('pending', 'exhausted')),
  constraint callback_outbox_ended_unless_pending check ((state = 'pending') = (ended_at is null)),
  constraint callback_outbox_attempts_before_in_range check (attempts_before between 0 and attempts)
  -- Rows stay for seconds: vacuumed and analyzed as transactions_in_process.
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
        autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false, autovacuum_analyze_scale_factor = 5);
create index callback_outbox_exhausted on tiba.callback_outbox (client_id, endpoint_id, sequence)
  where state = 'exhausted';
create index callback_outbox_due on tiba.callback_outbox (client_id, endpoint_id, next_attempt_at)
  where state = 'pending';

-- Deliveries that no process has claimed yet: one row for consecutive events and one endpoint, because a row of
-- callback_outbox for each would cost a feed an eighth of PostgreSQL's time. A claim moves the first of them there.
create table tiba.callback_outbox_ranges (
  first_sequence bigint not null,
  last_sequence bigint not null,
  due_at timestamptz not null default now(),
  client_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  -- A claim changes first_sequence only, and so no index.
  constraint callback_outbox_ranges_pkey primary key (client_id, endpoint_id, last_sequence),
  -- So what takes deliveries out of ranges finds these among few entries of the index.
  constraint callback_outbox_ranges_length check (last_sequence - first_sequence between 0 and 999)
  -- Rows stay for seconds: vacuumed and analyzed as those of callback_outbox.
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
        autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false, autovacuum_analyze_scale_factor = 5);

-- Every attempt. A response with 2xx means that the callback was delivered.
create table tiba.callback_attempts (
  sequence bigint not null,
  started_at timestamptz not null,
  duration_ms integer not null,
  attempt integer not null,
  -- The number of the last attempt that had begun when this one succeeded, if that is a later one.
  attempts_begun integer,
  http_status smallint,
  client_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  -- The first KiB of the response body.
  answer text,
  -- Why there was no response.
  error text,
  constraint callback_attempts_pkey primary key (client_id, endpoint_id, sequence, attempt)
) with (autovacuum_vacuum_scale_factor = 0.01);

-- Every delivery, also the finished ones. An attempt that succeeded ends a delivery, unless it was replayed since.
-- postgres/callback-history.ts says why `offset 0`.
create view tiba.callback_deliveries as
select client_id, endpoint_id, sequence, state, attempts, greatest(next_attempt_at, claimed_until) as next_attempt_at,
       ended_at
  from tiba.callback_outbox
union all
select e.client_id, e.endpoint_id, v.sequence, 'pending', 0, r.due_at, null
  from tiba.callback_endpoints e
  join tiba.events v on v.client_id = e.client_id
 cross join lateral (
   select next.due_at
     from (select r.first_sequence, r.due_at from tiba.callback_outbox_ranges r
            where r.client_id = e.client_id and r.endpoint_id = e.endpoint_id and r.last_sequence >= v.sequence
            order by r.last_sequence limit 1) next
    where next.first_sequence <= v.sequence) r
union all
select a.client_id, a.endpoint_id, a.sequence, 'delivered',
       (select max(l.attempt) from tiba.callback_attempts l
         where l.client_id = a.client_id and l.endpoint_id = a.endpoint_id and l.sequence = a.sequence),
       null, a.started_at + a.duration_ms * interval '1 millisecond'
  from tiba.callback_attempts a
 where a.http_status between 200 and 299
   and not exists (select from tiba.callback_attempts l
                    where l.client_id = a.client_id and l.endpoint_id = a.endpoint_id and l.sequence = a.sequence
                      and l.attempt > a.attempt and l.http_status between 200 and 299 offset 0)
   and not exists (select from tiba.callback_outbox o
                    where o.client_id = a.client_id and o.endpoint_id = a.endpoint_id and o.sequence = a.sequence
                   offset 0);

-- Replays of many callbacks that operators ordered. Processes carry them out together, endpoint by endpoint.
create table tiba.callback_replays (
  client_id text collate "C" not null,
  replay_id text collate "C" not null,
  -- Which events: those of a time, or those with these numbers.
  from_time timestamptz,
  to_time timestamptz,
  first_sequence bigint,
  last_sequence bigint,
  -- Only deliveries in this state; null for all, missing ones included.
  delivery_state text,
  state text not null default 'RUNNING',
  idempotency_key text collate "C" not null,
  -- Of what was ordered with the key.
  request_sha256 bytea not null,
  created_by text not null,
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  constraint callback_replays_pkey primary key (replay_id, client_id),
  constraint callback_replays_client_id_fkey foreign key (client_id) references tiba.clients,
  constraint callback_replays_idempotency_key_key unique (client_id, idempotency_key),
  constraint callback_replays_state_known check (state in ('RUNNING', 'COMPLETED', 'CANCELLED')),
  constraint callback_replays_ended_unless_running check ((state = 'RUNNING') = (ended_at is null)),
  constraint callback_replays_delivery_state_known
    check (delivery_state in ('pending', 'delivered', 'exhausted', 'missing')),
  constraint callback_replays_one_range
    check (num_nonnulls(from_time, to_time) = 2 and num_nonnulls(first_sequence, last_sequence) = 0
           or num_nonnulls(from_time, to_time) = 0 and num_nonnulls(first_sequence, last_sequence) = 2)
);
create index callback_replays_running on tiba.callback_replays (replay_id, client_id) where state = 'RUNNING';
create index callback_replays_created_at on tiba.callback_replays (created_at, replay_id);

-- How far the replay has come at each endpoint. The position grows in the database transaction that makes deliveries
-- pending, so a process that dies repeats and leaves out none.
create table tiba.callback_replay_endpoints (
  client_id text collate "C" not null,
  replay_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  -- The last event that was examined. The retention may have removed it since.
  after_sequence bigint,
  -- How much of the range was examined: from 0 to 1.
  progress float8 not null default 0,
  examined bigint not null default 0,
  replayed bigint not null default 0,
  -- How it ended; null until then.
  outcome text,
  constraint callback_replay_endpoints_pkey primary key (replay_id, client_id, endpoint_id),
  constraint callback_replay_endpoints_replay_fkey
    foreign key (replay_id, client_id) references tiba.callback_replays on delete cascade,
  constraint callback_replay_endpoints_outcome_known check (outcome in ('completed', 'disabled', 'removed'))
);

-- The audit log: one record for each account check. It outlives what it is about, so it references nothing.
create table tiba.account_checks (
  client_id text collate "C" not null,
  checked_at timestamptz not null,
  -- Chosen by the process that makes the record, so that a record that is written twice is stored once.
  check_id bigint not null,
  bic text not null,
  -- A keyed hash of BIC and account number, under a key derived from the data key. The number is not stored.
  account_hash bytea not null,
  -- The verdict, in capitals; or why there was none.
  outcome text not null,
  -- The rail that answered, or the last one that was asked.
  rail text,
  -- How old the verdict was, where it came from the verdict cache.
  age_seconds integer,
  -- As in X-Request-Id.
  request_id text,
  constraint account_checks_pkey primary key (client_id, checked_at, check_id)
) with (autovacuum_vacuum_scale_factor = 0.01);
-- A client looks its own checks of an account up, and the operator those of each client.
create index account_checks_account on tiba.account_checks (account_hash, client_id, checked_at, check_id);
-- A hash index is a third of the size of another one, and request IDs are only compared for equality.
create index account_checks_request_id on tiba.account_checks using hash (request_id);

-- What operators did: each change and each look at what is masked, over the API or by command. Each record has the hash
-- of the one before it (postgres/operator-actions.ts), and nothing changes or removes a record.
create table tiba.operator_actions (
  sequence bigint not null,
  happened_at timestamptz not null,
  -- `person:` with the issuer of the login, `#` and the subject; the client of a token; or `user:` and the system user
  -- of a command.
  actor text collate "C" not null,
  -- The address of the request, or the host of the command.
  origin text not null,
  action text collate "C" not null,
  -- Whom and what it concerns. The record outlives both, so it references nothing.
  client_id text collate "C",
  subject_id text collate "C",
  reason text,
  -- JSON text, so that what was hashed stays as it was.
  before text,
  after text,
  -- Of a person: the name, the session and the role in it.
  actor_name text,
  session_id text collate "C",
  role text,
  -- Of what a second person has approved: the actor proposed it.
  proposal_id text collate "C",
  approved_by text collate "C",
  approved_by_name text,
  previous_hash bytea not null,
  hash bytea not null,
  constraint operator_actions_pkey primary key (sequence)
);
create index operator_actions_actor on tiba.operator_actions (actor, sequence);
create index operator_actions_action on tiba.operator_actions (action, sequence);
create index operator_actions_client_id on tiba.operator_actions (client_id, sequence) where client_id is not null;
create index operator_actions_subject_id on tiba.operator_actions (subject_id, sequence) where subject_id is not null;

-- The end of the chain. Its row stays locked until an action and its record are committed, so the chain has no forks.
create table tiba.operator_actions_end (
  single boolean not null default true,
  last_sequence bigint not null,
  last_hash bytea not null,
  constraint operator_actions_end_pkey primary key (single),
  constraint operator_actions_end_has_one_row check (single)
);
insert into tiba.operator_actions_end (last_sequence, last_hash) values (0, '\x');

-- The second guard: the first is that the service's role has no right to it (docs/operating.md).
create function tiba.refuse_change() returns trigger language plpgsql
  set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'records of operators'' actions are never changed or removed'
    using errcode = 'insufficient_privilege';
end
$$;
create trigger operator_actions_append_only before update or delete or truncate on tiba.operator_actions
  for each statement execute function tiba.refuse_change();

-- A record is inserted at the end of the chain and nowhere else, and the end moves with it. After the insert, so that
-- the guard of the end finds the record.
create function tiba.append_operator_action() returns trigger language plpgsql
  set search_path = pg_catalog, pg_temp as $$
begin
  update tiba.operator_actions_end set last_sequence = new.sequence, last_hash = new.hash
   where last_sequence = new.sequence - 1 and last_hash = new.previous_hash;
  if not found then
    raise exception 'a record of operators'' actions does not follow the last one'
      using errcode = 'insufficient_privilege';
  end if;
  return null;
end
$$;
create trigger operator_actions_at_the_end after insert on tiba.operator_actions
  for each row execute function tiba.append_operator_action();

-- The end moves to a record that is there and follows the last one, so with a new record only. Whether the statement
-- is inside a trigger says nothing: a role that may create temporary tables can have a trigger of its own.
create function tiba.refuse_direct_change() returns trigger language plpgsql
  set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'UPDATE' and exists (
    select from tiba.operator_actions a
     where a.sequence = old.last_sequence + 1 and a.previous_hash = old.last_hash
       and a.sequence = new.last_sequence and a.hash = new.last_hash) then
    return new;
  end if;
  raise exception 'the end of the records of operators'' actions moves with a new record only'
    using errcode = 'insufficient_privilege';
end
$$;
create trigger operator_actions_end_moves_with_records before update
  on tiba.operator_actions_end for each row execute function tiba.refuse_direct_change();
create trigger operator_actions_end_stays before delete or truncate
  on tiba.operator_actions_end for each statement execute function tiba.refuse_direct_change();

-- Also in sessions that turn triggers off.
alter table tiba.operator_actions enable always trigger operator_actions_append_only;
alter table tiba.operator_actions enable always trigger operator_actions_at_the_end;
alter table tiba.operator_actions_end enable always trigger operator_actions_end_moves_with_records;
alter table tiba.operator_actions_end enable always trigger operator_actions_end_stays;

-- Sessions of people on the operator listener.
create table tiba.operator_sessions (
  -- In lists and in the record of actions; it opens nothing.
  session_id text collate "C" not null,
  -- SHA-256 of the cookie's value.
  secret_hash bytea not null,
  -- SHA-256 of what identifies the login: one login begins one session. null where a link began it, which is deleted.
  login_hash bytea,
  -- The identity provider that names the subject. null where a link began it.
  issuer text,
  subject text collate "C" not null,
  name text not null,
  role text not null,
  -- The address from which the person logged in.
  origin text not null,
  created_at timestamptz not null default now(),
  -- To the minute.
  last_used_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz,
  constraint operator_sessions_pkey primary key (session_id),
  constraint operator_sessions_secret_hash_unique unique (secret_hash),
  constraint operator_sessions_login_hash_unique unique (login_hash),
  constraint operator_sessions_role_known check (role in ('viewer', 'support', 'engineer', 'approver'))
);
create index operator_sessions_subject on tiba.operator_sessions (subject, created_at);
create index operator_sessions_created_at on tiba.operator_sessions (created_at);
create index operator_sessions_expires_at on tiba.operator_sessions (expires_at);

-- Links with which people log in to the sandbox, each once. They are deleted when they are used.
create table tiba.operator_login_links (
  -- SHA-256 of the code in the link.
  code_hash bytea not null,
  subject text not null,
  name text not null,
  role text not null,
  expires_at timestamptz not null,
  constraint operator_login_links_pkey primary key (code_hash),
  constraint operator_login_links_role_known check (role in ('viewer', 'support', 'engineer', 'approver'))
);

-- Changes that a person proposes and another one approves, where the operator turns it on (TIBA_FOUR_EYES).
create table tiba.operator_proposals (
  proposal_id text collate "C" not null,
  -- What the change is about, as TIBA_FOUR_EYES names it.
  kinds text[] not null,
  -- What is done when it is approved, as the record of actions names it.
  action text not null,
  client_id text collate "C",
  subject_id text collate "C",
  -- JSON text: exactly what is executed; and its SHA-256, which the approval names.
  payload text not null,
  payload_hash bytea not null,
  -- JSON text of what the change is based on: if it differs at the approval, the proposal is outdated.
  before text,
  reason text not null,
  proposer text collate "C" not null,
  proposer_name text not null,
  proposer_session text not null,
  proposer_role text not null,
  origin text not null,
  -- To the millisecond, so that a cursor can hold it.
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz not null,
  state text not null default 'pending',
  decided_by text,
  decided_by_name text,
  decided_at timestamptz,
  decision_reason text,
  constraint operator_proposals_pkey primary key (proposal_id),
  constraint operator_proposals_state_known
    check (state in ('pending', 'executed', 'refused', 'withdrawn', 'outdated')),
  constraint operator_proposals_decided_by_another check ((decided_by = proposer) = (state = 'withdrawn')),
  constraint operator_proposals_decided_when_not_pending check ((state = 'pending') = (decided_by is null))
);
create index operator_proposals_created_at on tiba.operator_proposals (created_at, proposal_id);
create index operator_proposals_state on tiba.operator_proposals (state, created_at, proposal_id);
-- Most that stay in this state have expired.
create index operator_proposals_pending on tiba.operator_proposals (expires_at) where state = 'pending';

-- What is approved is what was proposed: only the decision is ever written, and once.
create function tiba.refuse_changed_proposal() returns trigger language plpgsql as $$
begin
  if old.state <> 'pending'
     or (to_jsonb(new) - '{state,decided_by,decided_by_name,decided_at,decision_reason}'::text[])
        is distinct from (to_jsonb(old) - '{state,decided_by,decided_by_name,decided_at,decision_reason}'::text[]) then
    raise exception 'a proposal is decided once and never changed' using errcode = 'insufficient_privilege';
  end if;
  return new;
end
$$;
create trigger operator_proposals_unchanged before update on tiba.operator_proposals
  for each row execute function tiba.refuse_changed_proposal();
alter table tiba.operator_proposals enable always trigger operator_proposals_unchanged;

-- The availability that clients were last notified of, for each bank that was ever DOWN. It belongs to no client:
-- all clients get the same notice.
create table tiba.bank_availability (
  bic text collate "C" not null,
  status text not null,
  -- Grows by one with each notice about the bank.
  version integer not null default 1,
  -- When the status was found. What was found earlier does not change it.
  since timestamptz not null,
  -- Clients are notified in the order of client_id, in batches; this is the last one that was. null when all were.
  notified_up_to_client_id text collate "C" default '',
  constraint bank_availability_pkey primary key (bic),
  constraint bank_availability_status_known check (status in ('UP', 'DOWN'))
);

-- Each change of it, so that operators see for how long a bank was DOWN. A bank without a row was always UP.
create table tiba.bank_status_changes (
  bic text collate "C" not null,
  since timestamptz not null,
  status text not null,
  constraint bank_status_changes_pkey primary key (bic, since),
  constraint bank_status_changes_status_known check (status in ('UP', 'DOWN'))
);

-- How the account inquiries of an hour ended, of all processes together.
create table tiba.bank_hours (
  hour timestamptz not null,
  bic text collate "C" not null,
  -- `verdict`, or why there was none.
  outcome text collate "C" not null,
  inquiries bigint not null,
  -- How many took how long, by bucket (rails/resilience/inquiry-counts.ts); empty where that is not counted.
  durations integer[] not null,
  constraint bank_hours_pkey primary key (hour, bic, outcome)
) with (fillfactor = 70);

-- The last counts of each process that are in bank_hours. A process that does not learn whether they were stored sends
-- them again, with the same number.
create table tiba.bank_hour_batches (
  process_id uuid not null,
  batch bigint not null,
  stored_at timestamptz not null default now(),
  constraint bank_hour_batches_pkey primary key (process_id)
) with (fillfactor = 50);

-- What processes have found about banks and others need to know: that a bank fails, or that it answers although it
-- fails another process. The rows of a process end with it.
create table tiba.bank_findings (
  process_id uuid not null,
  rail text collate "C" not null,
  bic text collate "C" not null,
  failing boolean not null,
  -- With a failing bank, the only client whose inquiries fail; null when those of several do.
  client_id text collate "C",
  -- Since when the bank has been failing, or when it last answered.
  found_at timestamptz not null,
  constraint bank_findings_pkey primary key (process_id, rail, bic),
  constraint bank_findings_process foreign key (process_id) references tiba.processes on delete cascade
);

-- How many inquiries all processes have sent over a rail with a daily quota.
create table tiba.daily_inquiries (
  rail text collate "C" not null,
  -- Days since 1970-01-01, in Jakarta.
  day integer not null,
  sent bigint not null,
  constraint daily_inquiries_pkey primary key (rail, day)
) with (fillfactor = 50);

-- A bulk account validation and, below, its rows with their results.
create table tiba.account_validations (
  client_id text collate "C" not null,
  validation_id text collate "C" not null,
  state text not null default 'RUNNING',
  row_count integer not null,
  -- How many rows have a result; the latest result has this sequence. The row is locked while results are numbered, so
  -- that a reader who continues after one sequence misses none.
  last_sequence integer not null default 0,
  active_count integer not null default 0,
  inactive_count integer not null default 0,
  not_found_count integer not null default 0,
  blocked_count integer not null default 0,
  -- Rows that were invalid, and rows for which the bank gave no verdict.
  invalid_count integer not null default 0,
  no_verdict_count integer not null default 0,
  -- The client has reached a limit of its account checks. The validation goes on at this time.
  held_until timestamptz,
  idempotency_key text collate "C",
  -- Of the request that came with the key.
  body_sha256 bytea,
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  constraint account_validations_pkey primary key (client_id, validation_id),
  constraint account_validations_client_id_fkey foreign key (client_id) references tiba.clients,
  constraint account_validations_idempotency_key_key unique (client_id, idempotency_key),
  constraint account_validations_state_known check (state in ('RUNNING', 'COMPLETED', 'CANCELLED')),
  constraint account_validations_ended_unless_running check ((state = 'RUNNING') = (ended_at is null)),
  constraint account_validations_last_sequence_in_range check (last_sequence between 0 and row_count)
);
create index account_validations_running on tiba.account_validations (client_id, validation_id)
  where state = 'RUNNING';
create index account_validations_created_at on tiba.account_validations (client_id, created_at);
create index account_validations_ended_at on tiba.account_validations (ended_at) where ended_at is not null;

create table tiba.account_validation_rows (
  client_id text collate "C" not null,
  validation_id text collate "C" not null,
  -- As the client counts the rows of its upload.
  row_number integer not null,
  reference text,
  bank_code text,
  account_number text,
  expected_account_name text,
  -- The bank that is asked; null when the row is invalid.
  bic text collate "C",
  -- Later rows with the same account. They get the result of this row.
  duplicate_rows integer[] not null default '{}',
  -- duplicate: gets the result of an earlier row. in_flight: a process has claimed the row, and the bank may have been
  -- asked; it is never asked again.
  state text not null,
  claimed_at timestamptz,
  -- Position among the results, in the order in which they came.
  sequence integer,
  -- ACTIVE, INACTIVE, NOT_FOUND, BLOCKED, or an error code.
  result text,
  account_name text,
  -- What is wrong with the row, or why there is no verdict.
  message text,
  message_indonesian text,
  checked_at timestamptz,
  constraint account_validation_rows_pkey primary key (client_id, validation_id, row_number),
  constraint account_validation_rows_validation_fkey
    foreign key (client_id, validation_id) references tiba.account_validations,
  constraint account_validation_rows_state_known check (state in ('waiting', 'duplicate', 'in_flight', 'done')),
  constraint account_validation_rows_sequence_when_done check ((state = 'done') = (sequence is not null)),
  constraint account_validation_rows_result_when_done check ((state = 'done') = (result is not null)),
  constraint account_validation_rows_message_in_both_languages check ((message is null) = (message_indonesian is null))
);
create unique index account_validation_rows_sequence
  on tiba.account_validation_rows (client_id, validation_id, sequence)
  where sequence is not null;
-- Claims read the waiting rows of one validation at one bank.
create index account_validation_rows_waiting
  on tiba.account_validation_rows (client_id, validation_id, bic, row_number)
  where state = 'waiting';
create index account_validation_rows_in_flight on tiba.account_validation_rows (claimed_at) where state = 'in_flight';

-- The files of the archive (docs/decisions/0055-archive.md). Each is announced here before it is written.
create table tiba.archive_files (
  client_id text collate "C" not null,
  -- Below the directory of the archive.
  path text collate "C" not null,
  -- The first day of the month, in UTC, in which its transactions ended.
  month date not null,
  -- announced: the file may be there in part. removed: the file may still be there, whole or in part. Neither counts,
  -- and what is removed never counts again.
  state text not null default 'announced',
  transactions integer,
  bytes bigint,
  sha256 bytea,
  announced_at timestamptz not null default now(),
  -- Its transactions were restored. Until this time no retention deletes what belongs to transactions.
  held_until timestamptz,
  constraint archive_files_pkey primary key (client_id, path),
  constraint archive_files_client_id_fkey foreign key (client_id) references tiba.clients,
  constraint archive_files_state_known check (state in ('announced', 'written', 'removed')),
  constraint archive_files_described_when_written
    check (case state when 'announced' then num_nonnulls(transactions, bytes, sha256) = 0
                      when 'written' then num_nonnulls(transactions, bytes, sha256) = 3
                      else num_nonnulls(transactions, bytes, sha256) in (0, 3) end)
);
create index archive_files_not_written on tiba.archive_files (client_id, path) where state <> 'written';
create index archive_files_held_until on tiba.archive_files (held_until) where held_until is not null;
