-- What clients were told last of each bank that was ever DOWN. It belongs to no client: all are told the same.
create table tiba.bank_states (
  bic text collate "C" primary key,
  status text not null check (status in ('UP', 'DOWN')),
  -- Grows by one with each thing that clients are told about the bank.
  version integer not null default 1,
  -- When what it rests on was seen: what was seen before says nothing against it.
  since timestamptz not null,
  -- Clients are told in the order of client_id, some at a time: those up to this one have been. null when all have.
  told_up_to text collate "C" default ''
);
