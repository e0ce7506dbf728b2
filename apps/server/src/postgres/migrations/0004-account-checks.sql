-- A record of each check of an account: who asked, about which account, and what came of it. It outlives what it is about,
-- so it refers to nothing.

create table tiba.account_checks (
  client_id text collate "C" not null,
  checked_at timestamptz not null,
  -- Chosen by the process that made the record, so that a record that is written twice is there once.
  check_id bigint not null,
  bic text not null,
  -- A keyed hash of BIC and account number, under a key made of TIBA_SECRET_KEY. No number stands here.
  account_hash bytea not null,
  -- The verdict, in capitals; or why there was none.
  outcome text not null,
  -- The one that answered, or was asked last.
  rail text,
  -- How old the verdict was, where it was one that had been kept.
  age_seconds integer,
  -- The request's, as in X-Request-Id.
  request_id text,
  primary key (client_id, checked_at, check_id)
);
-- Who has asked about an account: for the operator, over all clients.
create index account_checks_account on tiba.account_checks (account_hash, checked_at);

alter table tiba.clients
  -- How many different accounts it may ask about in a day; null where it is as for everybody.
  add column accounts_per_day integer check (accounts_per_day >= 0),
  -- The signs of somebody who collects accounts do not hold it.
  add column trusted boolean not null default false;
