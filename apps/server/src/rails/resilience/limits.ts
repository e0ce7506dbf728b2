import type { Rail } from '../rail.ts';
import { createLatestClients } from './latest-clients.ts';
import { createDayCount, createQuota, type DayCount, type Quota } from './quota.ts';
import type { BankLimits } from './settings.ts';
import { createSharedQuota, type SharedQuotaDependencies } from './shared-quota.ts';

/**
 * Limits the inquiries in flight. When it is full, an inquiry fails fast: waiting would use up its deadline.
 *
 * A client may use all slots while it is alone. Once another client wants some, each gets as many as it leaves free, at
 * most half: a client that checks accounts of a slow bank must not hold all of them. By each process.
 */
export interface Bulkhead {
  /** Of all processes together. */
  max(): number;
  /** Changes the maximum. What is in flight stays counted. */
  resize(max: number): void;
  inFlight(): number;
  /** Whether nothing more may start; null: for any client. Remembers that this client wants a slot. */
  isFull(clientId: string | null, nowMs: number): boolean;
  /** How many more inquiries that can wait may start: half of the slots are reserved for those that cannot. */
  spareCapacity(): number;
  enter(clientId: string): void;
  leave(clientId: string): void;
}

/** A client counts as wanting slots for this long. */
const WANTED_MS = 60_000;

export function createBulkhead(initialMax: number, liveProcesses: () => number = () => 1): Bulkhead {
  let max = initialMax;
  const own = (): number => Math.max(Math.floor(max / liveProcesses()), 1);
  const inFlightByClient = new Map<string, number>();
  const clients = createLatestClients();
  let inFlight = 0;
  return {
    max: () => max,
    resize: (newMax) => void (max = newMax),
    inFlight: () => inFlight,
    isFull(clientId, nowMs) {
      const slots = own();
      if (clientId === null) return inFlight >= slots;
      clients.saw(clientId, nowMs);
      if (inFlight >= slots) return true;
      const isAlone = nowMs - clients.lastOtherMs(clientId) > WANTED_MS;
      return !isAlone && (inFlightByClient.get(clientId) ?? 0) >= slots - inFlight;
    },
    spareCapacity: () => Math.max(Math.ceil(own() / 2) - inFlight, 0),
    enter(clientId) {
      inFlight += 1;
      inFlightByClient.set(clientId, (inFlightByClient.get(clientId) ?? 0) + 1);
    },
    leave(clientId) {
      inFlight -= 1;
      const left = (inFlightByClient.get(clientId) ?? 1) - 1;
      if (left === 0) inFlightByClient.delete(clientId);
      else inFlightByClient.set(clientId, left);
    },
  };
}

/** What all banks behind one rail share: the limits of the operator's contract. Null for what it does not limit. */
export interface ConnectionGuard {
  readonly rail: Rail;
  readonly bulkhead: Bulkhead | null;
  readonly quota: Quota | null;
  /** Counts an inquiry before it is sent; null where the quota is this process's own, which `quota` counts. */
  readonly reserve: (() => Promise<boolean>) | null;
  /** How many of the bulkhead's slots one bank may occupy. */
  readonly slotsPerBank: number;
  readonly liveProcesses: () => number;
}

/** How limits are divided among processes. */
export interface Sharing {
  readonly liveProcesses: () => number;
  /** Null while each process counts its quotas by itself. */
  readonly quota: SharedQuotaDependencies | null;
}

export const NOT_SHARED: Sharing = { liveProcesses: () => 1, quota: null };

export interface ConnectionGuardOptions {
  /** Milliseconds since 1970. */
  readonly wallMs: () => number;
  readonly dayCount?: DayCount | undefined;
  /** Of the rail that this one replaces: what it sent counts on, because the bank counts it too. */
  readonly replaced?: ConnectionGuard | undefined;
}

export function createConnectionGuard(
  rail: Rail,
  limits: BankLimits,
  { wallMs, dayCount = createDayCount(), replaced }: ConnectionGuardOptions,
  { liveProcesses, quota: sharedBy }: Sharing = NOT_SHARED,
): ConnectionGuard {
  const { concurrencyMax, perSecond, perDay, isShared } = limits;
  const slots = concurrencyMax ?? Number.POSITIVE_INFINITY;
  const hasQuota = perSecond !== null || perDay !== null;
  const shared =
    hasQuota && sharedBy !== null ? createSharedQuota(limits, sharedBy, { rail: rail.name, wallMs, dayCount }) : null;
  return {
    rail,
    bulkhead: concurrencyMax === null ? null : bulkheadOf(concurrencyMax, liveProcesses, replaced?.bulkhead ?? null),
    quota: shared ?? (hasQuota ? createQuota(limits, wallMs, dayCount, replaced?.quota?.sentMs()) : null),
    reserve: shared === null ? null : shared.reserve,
    liveProcesses,
    // A hanging bank must not occupy all slots of a connection that leads to other banks too.
    slotsPerBank: isShared ? Math.ceil(slots / 2) : slots,
  };
}

function bulkheadOf(max: number, liveProcesses: () => number, replaced: Bulkhead | null): Bulkhead {
  if (replaced === null) return createBulkhead(max, liveProcesses);
  replaced.resize(max);
  return replaced;
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
