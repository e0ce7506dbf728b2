import type { Rail } from '../rail.ts';
import { type Bulkhead, createBulkhead } from './bulkhead.ts';
import { createQuota, type Quota } from './quota.ts';
import type { Contract } from './settings.ts';

/** What all banks behind one rail share: the operator's contract. Null for what it does not limit. */
export interface ConnectionGuard {
  readonly rail: Rail;
  readonly bulkhead: Bulkhead | null;
  readonly quota: Quota | null;
  /** Of the places, how many one bank may take. */
  readonly slotsPerBank: number;
}

export function createConnectionGuard(
  rail: Rail,
  contract: Contract,
  { wallMs, askedBefore }: { readonly wallMs: () => number; readonly askedBefore: number },
): ConnectionGuard {
  const { concurrencyMax, perSecond, perDay, isShared } = contract;
  const places = concurrencyMax ?? Number.POSITIVE_INFINITY;
  return {
    rail,
    bulkhead: concurrencyMax === null ? null : createBulkhead(concurrencyMax),
    quota: perSecond === null && perDay === null ? null : createQuota(contract, wallMs, askedBefore),
    // A bank that hangs must not hold all the places of a connection that leads to others, too.
    slotsPerBank: isShared ? Math.ceil(places / 2) : places,
  };
}
