import type { Rail } from '../rail.ts';
import { createQuota, type Quota } from './quota.ts';
import type { BankLimits } from './settings.ts';

/** Limits the inquiries in flight. When it is full, an inquiry fails fast: waiting would use up its deadline. */
export interface Bulkhead {
  readonly max: number;
  inFlight(): number;
  isFull(): boolean;
  /** How many more inquiries that can wait may start: half of the slots are reserved for those that cannot. */
  spareCapacity(): number;
  enter(): void;
  leave(): void;
}

export function createBulkhead(max: number): Bulkhead {
  let inFlight = 0;
  return {
    max,
    inFlight: () => inFlight,
    isFull: () => inFlight >= max,
    spareCapacity: () => Math.max(Math.ceil(max / 2) - inFlight, 0),
    enter() {
      inFlight += 1;
    },
    leave() {
      inFlight -= 1;
    },
  };
}

/** What all banks behind one rail share: the limits of the operator's contract. Null for what it does not limit. */
export interface ConnectionGuard {
  readonly rail: Rail;
  readonly bulkhead: Bulkhead | null;
  readonly quota: Quota | null;
  /** How many of the bulkhead's slots one bank may occupy. */
  readonly slotsPerBank: number;
}

export function createConnectionGuard(
  rail: Rail,
  limits: BankLimits,
  { wallMs, sentBefore }: { readonly wallMs: () => number; readonly sentBefore: number },
): ConnectionGuard {
  const { concurrencyMax, perSecond, perDay, isShared } = limits;
  const slots = concurrencyMax ?? Number.POSITIVE_INFINITY;
  return {
    rail,
    bulkhead: concurrencyMax === null ? null : createBulkhead(concurrencyMax),
    quota: perSecond === null && perDay === null ? null : createQuota(limits, wallMs, sentBefore),
    // A hanging bank must not occupy all slots of a connection that leads to other banks too.
    slotsPerBank: isShared ? Math.ceil(slots / 2) : slots,
  };
}

/** Allows extra inquiries, such as retries, in a fixed proportion to ordinary ones, however many fail. */
export interface RetryBudget {
  /** Call once for each ordinary inquiry that is sent. */
  earn(): void;
  /** Takes one extra inquiry, if `reserve` are left after it. */
  spend(reserve?: number): boolean;
}

/**
 * `oneIn` ordinary inquiries earn one extra, and at most `savedMax` are saved up. The budget counts whole ordinary
 * inquiries: a sum of tenths would never quite reach one.
 */
export function createRetryBudget(oneIn: number, savedMax: number): RetryBudget {
  const max = oneIn * savedMax;
  let saved = 0;
  return {
    earn() {
      if (saved < max) saved += 1;
    },
    spend(reserve = 0) {
      if (saved < oneIn * (reserve + 1)) return false;
      saved -= oneIn;
      return true;
    },
  };
}
