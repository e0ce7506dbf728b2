-- The status is kept true by itself and carried to the client: what happened to a transaction is numbered, told in
-- order, and delivered to whoever registered for it.

alter table tiba.transactions
  -- Grows by one with each thing that its client is told about.
  add column version integer not null default 1 check (version > 0),
  -- The rail that carries it, and its reference there: what a bank can be asked with.
  add column rail text,
  add column rail_reference text,
  -- The bank gave the money back after SUCCESS. The status stays.
  add column reversed_at timestamptz,
  -- When its bank is expected to be done with it, and since when it has been too long about it.
  add column expected_by timestamptz,
  add column overdue_since timestamptz,
  add check (reversed_at is null or status = 'SUCCESS'),
  add check ((rail is null) = (rail_reference is null));

update tiba.transactions set expected_by = created_at + interval '30 minutes';
alter table tiba.transactions alter column expected_by set not null;

-- The checks of foreign keys look a transaction up by its primary key, with a plan that is made once per connection. On a
-- table that is still empty, a second index that begins with client_id looks as good, and every check would then read all
-- of a client's transactions.
alter table tiba.transactions drop constraint transactions_reference_id_key;
alter table tiba.transactions add constraint transactions_reference_id_key unique (reference_id, client_id);

create index transactions_expected_by on tiba.transactions (expected_by)
  where status = 'PROCESS' and overdue_since is null;
create index transactions_overdue_since on tiba.transactions (overdue_since)
  where status = 'PROCESS' and overdue_since is not null;

alter table tiba.observations drop constraint observations_outcome_check;
alter table tiba.observations add constraint observations_outcome_check
  check (outcome in ('inserted', 'advanced', 'reversed', 'overdue', 'unchanged', 'conflict'));

-- One row for each transaction that its rail can be asked about, as long as it is in PROCESS.
create table tiba.transfer_inquiries (
  client_id text collate "C" not null,
  transaction_id text collate "C" not null,
  -- The transaction's own. It stands here too, so that what is due at one bank stands in no other's way.
  rail text collate "C" not null,
  -- When to ask next. Whoever asks moves it ahead first, so that nobody else asks meanwhile.
  next_at timestamptz not null,
  -- Somebody asks until then. One who was killed meanwhile holds it no longer than that.
  claimed_until timestamptz,
  asked_at timestamptz,
  -- How many steps of the schedule are behind it: questions that were answered, without those that a reader caused.
  asked_times integer not null default 0,
  -- Since when the bank has said that it knows nothing of it.
  unknown_since timestamptz,
  -- Since when that is for a person to look into.
  review_since timestamptz,
  primary key (client_id, transaction_id),
  foreign key (client_id, transaction_id) references tiba.transactions
);
create index transfer_inquiries_next_at on tiba.transfer_inquiries (rail, next_at);
create index transfer_inquiries_review_since on tiba.transfer_inquiries (review_since)
  where review_since is not null;

-- How many events each client has had. Its row is locked until the events are there, so their numbers have no gaps.
create table tiba.event_counts (
  client_id text collate "C" primary key references tiba.clients,
  last_sequence bigint not null
);

create table tiba.events (
  client_id text collate "C" not null,
  sequence bigint not null,
  transaction_id text collate "C" not null,
  -- The transaction's, after what happened.
  version integer not null,
  kind text not null,
  occurred_at timestamptz not null,
  -- The transaction as a status check answered it then.
  data text not null,
  unique (transaction_id, version, client_id),
  foreign key (client_id, transaction_id) references tiba.transactions
);
-- A replay is of a range of time.
create index events_occurred_at on tiba.events (client_id, occurred_at, sequence);
-- After the other index, because of two that look as good on an empty table the newer one is taken.
alter table tiba.events add primary key (client_id, sequence);

create table tiba.callback_endpoints (
  client_id text collate "C" not null references tiba.clients,
  endpoint_id text collate "C" not null,
  url text not null,
  kinds text[] not null,
  -- AES-256-GCM under TIBA_SECRET_KEY.
  secret_sealed bytea not null,
  -- After a rotation the former secret signs as well, until then.
  former_secret_sealed bytea,
  former_secret_until timestamptz,
  -- Since when no delivery has succeeded.
  failing_since timestamptz,
  disabled_at timestamptz,
  disabled_reason text check (disabled_reason in ('client', 'gone', 'failing')),
  created_at timestamptz not null default now(),
  primary key (client_id, endpoint_id),
  check ((disabled_at is null) = (disabled_reason is null))
);
-- What the operator looks for, over all clients.
create index callback_endpoints_in_trouble on tiba.callback_endpoints (client_id, endpoint_id)
  where disabled_at is not null or failing_since is not null;

create table tiba.callback_deliveries (
  client_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  sequence bigint not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'exhausted')),
  -- All there were. They are numbered on and on: a replay does not begin at 1 again.
  attempts integer not null default 0,
  -- How many there were before the last replay. The schedule begins again with a replay, so a delivery's place in it is
  -- attempts - attempts_before.
  attempts_before integer not null default 0,
  -- When it is due. Whoever sends it moves it ahead first, so that nobody else sends it meanwhile.
  next_attempt_at timestamptz not null,
  -- When it was delivered or given up.
  ended_at timestamptz,
  primary key (client_id, endpoint_id, sequence),
  foreign key (client_id, endpoint_id) references tiba.callback_endpoints,
  foreign key (client_id, sequence) references tiba.events,
  check ((state = 'pending') = (ended_at is null)),
  check (attempts_before between 0 and attempts)
);
create index callback_deliveries_state on tiba.callback_deliveries (client_id, endpoint_id, state, sequence);
create index callback_deliveries_due on tiba.callback_deliveries (client_id, endpoint_id, next_attempt_at)
  where state = 'pending';

create table tiba.callback_attempts (
  client_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  sequence bigint not null,
  attempt integer not null,
  started_at timestamptz not null,
  duration_ms integer not null,
  http_status integer,
  -- The first KiB of what the receiver answered.
  answer text,
  -- Why there was no answer.
  error text,
  primary key (client_id, endpoint_id, sequence, attempt),
  foreign key (client_id, endpoint_id, sequence) references tiba.callback_deliveries
);
