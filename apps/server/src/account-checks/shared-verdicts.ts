import { hkdfSync } from 'node:crypto';
import { createSeal } from '../auth/secrets.ts';
import type { InquiryOutcome } from '../rails/rail.ts';
import type { SharedCache } from '../valkey/shared-cache.ts';

export type CachedOutcome = Extract<InquiryOutcome, { kind: 'verdict' }>;

export interface CachedVerdict {
  readonly outcome: CachedOutcome;
  /** Rounded up. */
  readonly ageSeconds: number;
}

/** The verdicts of all processes. */
export interface SharedVerdicts {
  put(clientId: string, accountHash: string, outcome: CachedOutcome): void;
  /** Null when no verdict is known, or the cache cannot be reached. The verdict may be too old. */
  find(clientId: string, accountHash: string): Promise<CachedVerdict | null>;
  isPresent(): boolean;
}

export interface SharedVerdictsOptions {
  readonly cache: SharedCache;
  /** Of the installation (auth/secret-key.ts). */
  readonly dataKey: Buffer;
  readonly ttlSeconds: number;
  /** Milliseconds since 1970. */
  readonly wallClock?: () => number;
}

/**
 * Bounds the memory that clients can make the cache use, to some 30 MB. A verdict replaces the one in its slot: the
 * limits are in the same place, and must never lack memory because of it.
 */
const SLOTS = 100_000;
const KEY_BYTES = 32;
const SLOT_BYTES = 4;

/**
 * Each verdict is encrypted with a key of its own, derived from the data key, the client and the account. What is
 * stored shows no name, no account and no client, and does not open in the place of another one.
 */
export function createSharedVerdicts(options: SharedVerdictsOptions): SharedVerdicts {
  const { cache, dataKey, ttlSeconds, wallClock = Date.now } = options;
  const lifetimeMs = ttlSeconds * 1_000;

  function entryOf(clientId: string, accountHash: string): { slot: string; key: Buffer } {
    const info = `tiba verdict ${accountHash} ${clientId}`;
    const derived = Buffer.from(hkdfSync('sha256', dataKey, '', info, KEY_BYTES + SLOT_BYTES));
    return { slot: String(derived.readUInt32BE(KEY_BYTES) % SLOTS), key: derived.subarray(0, KEY_BYTES) };
  }

  return {
    isPresent: cache.isPresent,
    put(clientId, accountHash, outcome) {
      const { slot, key } = entryOf(clientId, accountHash);
      const stored: StoredVerdict = { outcome, atMs: wallClock(), lifetimeMs };
      const sealed = createSeal(key).seal(JSON.stringify(stored));
      cache.put(slot, sealed.toString('base64'), lifetimeMs);
    },
    async find(clientId, accountHash) {
      const { slot, key } = entryOf(clientId, accountHash);
      const found = await cache.find(slot);
      const text = found === null ? null : open(key, found.value);
      if (found === null || text === null) return null;
      const stored = JSON.parse(text) as StoredVerdict;
      // The clocks of processes differ, and the one of the cache does not prove when a value was written.
      const ageMs = Math.max(stored.lifetimeMs - found.leftMs, wallClock() - stored.atMs, 0);
      return { outcome: stored.outcome, ageSeconds: Math.ceil(ageMs / 1_000) };
    },
  };
}

interface StoredVerdict {
  readonly outcome: CachedOutcome;
  /** Milliseconds since 1970, on the clock of the process that wrote it. */
  readonly atMs: number;
  readonly lifetimeMs: number;
}

/** Null for the verdict of another client or account, and for anything that was changed. */
function open(key: Buffer, value: string): string | null {
  try {
    return createSeal(key).open(Buffer.from(value, 'base64'));
  } catch {
    return null;
  }
}
