-- An event is no longer about a transaction only: its subject can be a job or a bank as well.

alter table tiba.events drop constraint events_client_id_transaction_id_fkey;
-- Renamed, not made anew: the order in which this table's indexes came to be decides what is taken while it is empty.
alter table tiba.events rename column transaction_id to subject_id;
alter table tiba.events rename constraint events_transaction_id_version_client_id_key
  to events_subject_id_version_client_id_key;
