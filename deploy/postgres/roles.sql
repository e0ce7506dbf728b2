-- The roles and the database of Tiba, with the fewest rights that work. Run it once for each database, as a superuser,
-- with psql 14 or later; the passwords come from the environment, so that no list of processes shows them:
--
--   TIBA_OWNER_PASSWORD=… TIBA_SERVICE_PASSWORD=… psql "$ADMIN_URL" -v ON_ERROR_STOP=1 -v database=tiba \
--     -f deploy/postgres/roles.sql
--
-- tiba_owner migrates (npm run migrate). tiba_service is what npm run serve and npm run manage use: it reads and writes
-- rows, and cannot change the schema. All databases of Tiba on a server share the two roles: a run creates those that
-- are missing, and gives both new passwords. If the database exists already, it stops before that.
\getenv owner_password TIBA_OWNER_PASSWORD
\getenv service_password TIBA_SERVICE_PASSWORD

select
  not exists (select from pg_roles where rolname = 'tiba_owner') as owner_is_missing,
  not exists (select from pg_roles where rolname = 'tiba_service') as service_is_missing
\gset
\if :owner_is_missing
create role tiba_owner;
\endif
\if :service_is_missing
create role tiba_service;
\endif
create database :"database" owner tiba_owner;

alter role tiba_owner login password :'owner_password';
alter role tiba_service login password :'service_password';
-- Tiba sets its timeouts itself, for each connection. These hold for what connects as tiba_service by hand.
alter role tiba_service set statement_timeout = '30s';
alter role tiba_service set idle_in_transaction_session_timeout = '60s';

revoke all on database :"database" from public;
grant connect on database :"database" to tiba_service;

\connect :"database"
revoke all on schema public from public;
-- What the migrations create, now and later, in the schema tiba.
alter default privileges for role tiba_owner revoke execute on functions from public;
alter default privileges for role tiba_owner grant usage on schemas to tiba_service;
alter default privileges for role tiba_owner grant select, insert, update, delete on tables to tiba_service;
alter default privileges for role tiba_owner grant usage, select on sequences to tiba_service;
alter default privileges for role tiba_owner grant execute on functions to tiba_service;
