-- Many accounts checked at once: a job, and its rows with what came of each.

create table tiba.account_validations (
  client_id text collate "C" not null references tiba.clients,
  validation_id text collate "C" not null,
  state text not null default 'RUNNING' check (state in ('RUNNING', 'COMPLETED', 'CANCELLED')),
  row_count integer not null,
  -- How many rows have a result; the last of them has this sequence. The row is locked while results are numbered, so
  -- that whoever reads on from one sequence misses none.
  last_sequence integer not null default 0,
  active_count integer not null default 0,
  inactive_count integer not null default 0,
  not_found_count integer not null default 0,
  blocked_count integer not null default 0,
  -- Rows that could not be asked about as they were, and those that the bank said nothing about.
  invalid_count integer not null default 0,
  no_verdict_count integer not null default 0,
  -- Its client has had its share of accounts for now: it goes on then.
  held_until timestamptz,
  idempotency_key text collate "C",
  -- Of what was sent with that key.
  body_sha256 bytea,
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  primary key (client_id, validation_id),
  unique (client_id, idempotency_key),
  check ((state = 'RUNNING') = (ended_at is null)),
  check (last_sequence between 0 and row_count)
);
create index account_validations_running on tiba.account_validations (client_id, validation_id)
  where state = 'RUNNING';
create index account_validations_created_at on tiba.account_validations (client_id, created_at);
create index account_validations_ended_at on tiba.account_validations (ended_at) where ended_at is not null;

create table tiba.account_validation_rows (
  client_id text collate "C" not null,
  validation_id text collate "C" not null,
  -- As the client counts them in what it sent.
  row_number integer not null,
  reference text,
  bank_code text,
  account_number text,
  expected_account_name text,
  -- The bank that is asked; null when the row cannot be asked about.
  bic text collate "C",
  -- Later rows with the same account, which this one is asked about for, too.
  also_rows integer[] not null default '{}',
  -- following: an earlier row is asked about for it. asking: somebody has taken it, and perhaps the bank has been asked. It
  -- is never asked about again.
  state text not null check (state in ('waiting', 'following', 'asking', 'done')),
  asked_at timestamptz,
  -- Its place among the results, in the order in which they came.
  sequence integer,
  -- ACTIVE, INACTIVE, NOT_FOUND, BLOCKED, or the code of an error.
  result text,
  account_name text,
  -- What is wrong with the row, or why there is no verdict.
  message text,
  checked_at timestamptz,
  primary key (client_id, validation_id, row_number),
  foreign key (client_id, validation_id) references tiba.account_validations,
  check ((state = 'done') = (sequence is not null)),
  check ((state = 'done') = (result is not null))
);
create unique index account_validation_rows_sequence on tiba.account_validation_rows (client_id, validation_id, sequence)
  where sequence is not null;
-- What is to be asked, of one job at one bank.
create index account_validation_rows_waiting on tiba.account_validation_rows (client_id, validation_id, bic, row_number)
  where state = 'waiting';
create index account_validation_rows_asking on tiba.account_validation_rows (asked_at) where state = 'asking';
