#!/usr/bin/env bash
# Runs in the container of PostgreSQL, when its data directory is new.
set -euo pipefail
TIBA_OWNER_PASSWORD=$(cat /run/secrets/owner-password)
TIBA_SERVICE_PASSWORD=$(cat /run/secrets/service-password)
export TIBA_OWNER_PASSWORD TIBA_SERVICE_PASSWORD
psql --username postgres --quiet -v ON_ERROR_STOP=1 -v database=tiba -f /roles.sql
