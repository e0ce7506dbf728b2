-- Every table that belongs to a client leads with client_id, so that a distributed PostgreSQL can place a client's rows
-- together and no query of the public API crosses clients. Identifiers compare byte by byte (collate "C").

create table tiba.clients (
  client_id text collate "C" primary key,
  name text not null,
  -- SHA-256 of a random 256-bit secret: there is nothing to guess, so a slow hash would only slow the login down.
  secret_hash bytea not null,
  scopes text[] not null,
  check_status_per_minute integer check (check_status_per_minute >= 0),
  check_account_per_minute integer check (check_account_per_minute >= 0),
  -- Tokens issued before this moment are revoked.
  tokens_valid_from timestamptz not null default '-infinity',
  disabled_at timestamptz,
  created_at timestamptz not null default now()
);

create table tiba.signing_keys (
  key_id text collate "C" primary key,
  algorithm text not null,
  public_jwk json not null,
  -- AES-256-GCM under TIBA_SECRET_KEY.
  private_jwk_sealed bytea not null,
  created_at timestamptz not null default now(),
  -- A retired key signs nothing more; its tokens stay good until they expire.
  retired_at timestamptz
);

create table tiba.transactions (
  client_id text collate "C" not null references tiba.clients,
  transaction_id text collate "C" not null,
  reference_id text collate "C" not null,
  status text not null check (status in ('PROCESS', 'SUCCESS', 'FAILED')),
  amount numeric(20, 2) not null check (amount > 0),
  fee numeric(20, 2) not null check (fee >= 0),
  currency text not null,
  bank_code text not null,
  bank_name text not null,
  account_number text not null,
  account_name text not null,
  description text not null,
  created_at timestamptz not null,
  processed_at timestamptz,
  failure_reason text,
  -- The answer's `data`, rendered when the transaction changes: a status check only copies it.
  rendered text not null,
  primary key (client_id, transaction_id),
  constraint transactions_reference_id_key unique (client_id, reference_id),
  check ((status = 'PROCESS') = (processed_at is null)),
  check ((status = 'FAILED') = (failure_reason is not null))
);

create table tiba.observations (
  client_id text collate "C" not null,
  transaction_id text collate "C" not null,
  observation_id bigint generated always as identity,
  -- Who said it: the client_id of the feed.
  source text not null,
  -- What it said, as it came.
  said json not null,
  outcome text not null check (outcome in ('inserted', 'advanced', 'unchanged', 'conflict')),
  -- Why it was not applied.
  reason text,
  observed_at timestamptz not null default now(),
  primary key (client_id, transaction_id, observation_id),
  foreign key (client_id, transaction_id) references tiba.transactions
);

-- Every process keeps the clients and the signing keys in memory; this tells it what to read again.
create function tiba.notify_change() returns trigger language plpgsql as $$
begin
  perform pg_notify(tg_argv[0], '');
  return null;
end
$$;

create trigger clients_changed after insert or update or delete on tiba.clients
  for each statement execute function tiba.notify_change('tiba_clients');

create trigger signing_keys_changed after insert or update or delete on tiba.signing_keys
  for each statement execute function tiba.notify_change('tiba_signing_keys');

-- Which kind of data this database holds, so that a sandbox never fills a production database with demo data,
-- and production never serves from a sandbox.
create table tiba.installation (
  single boolean primary key default true check (single),
  environment text not null check (environment in ('sandbox', 'production'))
);
