import type { Log } from '../observability/log.ts';
import { secretIdOf, storeSecretUse } from '../postgres/client-secrets.ts';
import type { Database } from '../postgres/database.ts';

/** Stores on which day a client last logged in with which of its secrets, so that an old one can be retired. */
export interface SecretUses {
  /** Returns at once. What cannot be stored now is stored with a later login. */
  record(clientId: string, secretHash: Buffer): void;
}

/** Each process stores a use again after this time, which changes nothing on the same day. */
const STORED_AGAIN_AFTER_MS = 3_600_000;
const RETRY_AFTER_MS = 60_000;

export function createSecretUses(database: Database, log: Pick<Log, 'warn'>): SecretUses {
  /** By client and secret: until when nothing is to be stored. As many as there are secrets. */
  const storedUntilMs = new Map<string, number>();
  return {
    record(clientId, secretHash) {
      const secretId = secretIdOf(secretHash);
      const key = `${clientId} ${secretId}`;
      const nowMs = performance.now();
      if (nowMs < (storedUntilMs.get(key) ?? 0)) return;
      storedUntilMs.set(key, nowMs + STORED_AGAIN_AFTER_MS);
      storeSecretUse(database, clientId, secretId).catch((error: unknown) => {
        storedUntilMs.set(key, nowMs + RETRY_AFTER_MS);
        log.warn({ err: error, clientId }, 'the use of a client secret was not stored; will retry at a later login');
      });
    },
  };
}
