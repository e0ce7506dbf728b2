import { setTimeout as wait } from 'node:timers/promises';
import { jakartaDayOf, jakartaDayStartMs } from '../../domain/instant.ts';
import { createDailyAccounts, shortened } from './daily-accounts.ts';
import { createNotFoundRatio, NOT_FOUND_BOUNDS } from './not-found-ratio.ts';
import { createSequentialNumbers, SEQUENTIAL_NUMBERS_BOUNDS } from './sequential-numbers.ts';
import { levelOf, type Restriction, type RestrictionLevel, type Signal } from './signals.ts';

/** What becomes of a question. `known`: it was asked today already, which costs nothing. */
export type Admission = { readonly kind: 'known' | 'new' | 'slowed' } | Blocked;

export interface Blocked {
  readonly kind: 'blocked';
  readonly reason: Signal;
  readonly retryAfterMs: number;
}

/** What the operator allows a client. */
export interface ClientBounds {
  readonly accountsPerDay: number;
  /** Only the bound of a day holds it. */
  readonly trusted: boolean;
}

/** One client's questions about accounts, as this process has seen them. Times are of a clock that never jumps. */
export interface ClientGuard {
  /** Whether this account may be asked about now; it counts as asked if so. */
  admit(account: CheckedAccount, nowMs: number): Admission;
  /** Resolves when a question that was admitted as `slowed` may go on. */
  slow(): Promise<void>;
  /** Whether this is the first verdict about an account since it was admitted: a question may have come to nothing. */
  isFirstVerdict(hash: string): boolean;
  /** A first verdict. */
  heard(isNotFound: boolean, nowMs: number): void;
  /** What holds it now. Trips that are over end, and whoever wants to know is told. */
  restrictions(nowMs: number): readonly Restriction[];
  accountsToday(): number;
  /** The day that it is for this client: see `jakartaDayOf`. */
  today(): number;
  /** It has asked about these on that day, before this process began. */
  recall(day: number, hashes: readonly string[]): void;
}

export interface CheckedAccount {
  readonly bic: string;
  readonly accountNumber: string;
  readonly hash: string;
}

export interface ClientGuardDependencies {
  readonly bounds: () => ClientBounds;
  /** Milliseconds since 1970. */
  readonly wallMs: () => number;
  /** How long a question waits while the client is slowed. */
  readonly slowedMs: number;
  readonly onRestricted: (trip: Restriction) => void;
  readonly onLifted: (trip: Restriction) => void;
}

/** How long a sign holds a client after it was last seen. */
const HOLD_MS = 30 * 60_000;

/** Questions of one client that may wait at the same time: eight a second get through. */
const WAITING_MAX = 4;

const KNOWN: Admission = { kind: 'known' };
const NEW: Admission = { kind: 'new' };
const SLOWED: Admission = { kind: 'slowed' };

export function createClientGuard(dependencies: ClientGuardDependencies): ClientGuard {
  const { bounds, wallMs, slowedMs, onRestricted, onLifted } = dependencies;
  const seen = createDailyAccounts();
  /** Of those that were seen today, the ones without a verdict. */
  const unheard = new Set<number>();
  const neighbours = createSequentialNumbers();
  const notFound = createNotFoundRatio();
  const trips = new Map<Signal, Restriction>();
  let waiting = 0;

  function today(): number {
    const before = seen.day();
    seen.moveTo(jakartaDayOf(wallMs()));
    if (seen.day() !== before) unheard.clear();
    return seen.day();
  }

  function isOver({ signal, untilMs }: Restriction, nowMs: number): boolean {
    if (nowMs >= untilMs) return true;
    // The operator may have changed his mind meanwhile.
    return signal === 'accounts_per_day' ? seen.count() < bounds().accountsPerDay : bounds().trusted;
  }

  function endTrips(nowMs: number): void {
    for (const trip of trips.values()) {
      if (!isOver(trip, nowMs)) continue;
      trips.delete(trip.signal);
      onLifted(trip);
    }
  }

  /** The trip that weighs most. */
  function heaviest(): Restriction | null {
    let held: Restriction | null = null;
    for (const trip of trips.values()) {
      const weighsMore = trip.level === held?.level ? trip.untilMs > held.untilMs : trip.level === 'blocked';
      if (held === null || weighsMore) held = trip;
    }
    return held;
  }

  function trip(signal: Signal, level: RestrictionLevel, figure: number, nowMs: number, forMs: number): void {
    const before = trips.get(signal);
    if (before?.level === 'blocked' && level === 'slowed') return;
    const now = wallMs();
    const since = before?.level === level ? before.since : new Date(now).toISOString();
    const tripped: Restriction = {
      signal,
      level,
      figure,
      since,
      until: new Date(now + forMs).toISOString(),
      untilMs: nowMs + forMs,
    };
    trips.set(signal, tripped);
    if (before?.level !== level) onRestricted(tripped);
  }

  /** Trips if that is what the figure means; what led to a refusal is then done with. */
  function judge(sign: 'not_found_ratio' | 'sequential_numbers', figure: number, nowMs: number): void {
    const hold = levelOf(figure, sign === 'sequential_numbers' ? SEQUENTIAL_NUMBERS_BOUNDS : NOT_FOUND_BOUNDS);
    if (hold === null) return;
    endTrips(nowMs);
    trip(sign, hold, figure, nowMs, HOLD_MS);
    if (hold === 'blocked') (sign === 'sequential_numbers' ? neighbours : notFound).forget();
  }

  return {
    today,
    accountsToday: seen.count,
    recall(day, hashes) {
      if (day === today()) for (const hash of hashes) seen.add(shortened(hash));
    },
    admit({ bic, accountNumber, hash }, nowMs) {
      const day = today();
      const account = shortened(hash);
      if (seen.has(account)) return KNOWN;
      endTrips(nowMs);
      const { accountsPerDay, trusted } = bounds();
      if (seen.count() >= accountsPerDay && !trips.has('accounts_per_day')) {
        const leftMs = jakartaDayStartMs(day + 1) - wallMs();
        trip('accounts_per_day', 'blocked', seen.count(), nowMs, leftMs);
      }
      const held = heaviest();
      if (held?.level === 'blocked')
        return { kind: 'blocked', reason: held.signal, retryAfterMs: held.untilMs - nowMs };
      if (held !== null && waiting === WAITING_MAX)
        return { kind: 'blocked', reason: held.signal, retryAfterMs: slowedMs };
      seen.add(account);
      unheard.add(account);
      if (!trusted) judge('sequential_numbers', neighbours.asked(bic, accountNumber, nowMs), nowMs);
      return held === null ? NEW : SLOWED;
    },
    async slow() {
      waiting += 1;
      await wait(slowedMs);
      waiting -= 1;
    },
    isFirstVerdict: (hash) => unheard.delete(shortened(hash)),
    heard(isNotFound, nowMs) {
      if (!bounds().trusted) judge('not_found_ratio', notFound.heard(isNotFound, nowMs), nowMs);
    },
    restrictions(nowMs) {
      today();
      endTrips(nowMs);
      return [...trips.values()];
    },
  };
}
