/**
 * Channels without a payload: every process has these tables in memory, and a notification makes it read them again.
 * Triggers notify on them too, by the same names (migrations/0001_initial_schema.sql).
 */

export const CLIENTS_CHANNEL = 'tiba_clients';
export const SIGNING_KEYS_CHANNEL = 'tiba_signing_keys';
export const RESTORES_CHANNEL = 'tiba_restores';
