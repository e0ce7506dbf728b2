import type { HeldLease } from '../../apps/server/src/postgres/leases.ts';

/** For a run that no other process disturbs. */
export const HELD_LEASE: HeldLease = { hold: () => Promise.resolve(true), isHeld: () => Promise.resolve(true) };

/** A client that cannot be archived fails the test. */
export function fail(_clientId: string, error: unknown): never {
  throw error;
}
