import { setTimeout as wait } from 'node:timers/promises';
import { jakartaDayOf, jakartaDayStartMs } from '../../domain/instant.ts';
import { createNeighbours, NEIGHBOUR_BOUNDS } from './neighbours.ts';
import { createNotFoundShare, NOT_FOUND_BOUNDS } from './not-found-share.ts';
import { createSeenAccounts, shortened } from './seen-accounts.ts';
import { type Hold, holdOf, type Sign, type Trip } from './signs.ts';

/** What becomes of a question. `known`: it was asked today already, which costs nothing. */
export type Admission = { readonly kind: 'known' | 'new' | 'slowed' } | Refused;

export interface Refused {
  readonly kind: 'refused';
  readonly reason: Sign;
  readonly retryAfterMs: number;
}

/** What the operator allows a client. */
export interface ClientBounds {
  readonly accountsPerDay: number;
  /** Only the bound of a day holds it. */
  readonly trusted: boolean;
}

/** One client's questions about accounts, as this process has seen them. Times are of a clock that never jumps. */
export interface WatchedClient {
  /** Whether this account may be asked about now; it counts as asked if so. */
  admit(account: AskedAccount, nowMs: number): Admission;
  /** Resolves when a question that was admitted as `slowed` may go on. */
  slow(): Promise<void>;
  /** Whether this is the first verdict about an account since it was admitted: a question may have come to nothing. */
  isFirstVerdict(hash: string): boolean;
  /** A first verdict. */
  heard(isNotFound: boolean, nowMs: number): void;
  /** What holds it now. Trips that are over end, and whoever wants to know is told. */
  trips(nowMs: number): readonly Trip[];
  accountsToday(): number;
  /** The day that it is for this client: see `jakartaDayOf`. */
  today(): number;
  /** It has asked about these on that day, before this process began. */
  recall(day: number, hashes: readonly string[]): void;
}

export interface AskedAccount {
  readonly bic: string;
  readonly accountNumber: string;
  readonly hash: string;
}

export interface WatchedClientParts {
  readonly bounds: () => ClientBounds;
  /** Milliseconds since 1970. */
  readonly wallMs: () => number;
  /** How long a question waits while the client is slowed. */
  readonly slowedMs: number;
  readonly onTrip: (trip: Trip) => void;
  readonly onFree: (trip: Trip) => void;
}

/** How long a sign holds a client after it was last seen. */
const HOLD_MS = 30 * 60_000;

/** Questions of one client that may wait at the same time: eight a second get through. */
const WAITING_MAX = 4;

const KNOWN: Admission = { kind: 'known' };
const NEW: Admission = { kind: 'new' };
const SLOWED: Admission = { kind: 'slowed' };

export function createWatchedClient(parts: WatchedClientParts): WatchedClient {
  const { bounds, wallMs, slowedMs, onTrip, onFree } = parts;
  const seen = createSeenAccounts();
  /** Of those that were seen today, the ones without a verdict. */
  const unheard = new Set<number>();
  const neighbours = createNeighbours();
  const notFound = createNotFoundShare();
  const trips = new Map<Sign, Trip>();
  let waiting = 0;

  function today(): number {
    const before = seen.day();
    seen.moveTo(jakartaDayOf(wallMs()));
    if (seen.day() !== before) unheard.clear();
    return seen.day();
  }

  function isOver({ sign, untilMs }: Trip, nowMs: number): boolean {
    if (nowMs >= untilMs) return true;
    // The operator may have changed his mind meanwhile.
    return sign === 'accounts_per_day' ? seen.count() < bounds().accountsPerDay : bounds().trusted;
  }

  function endTrips(nowMs: number): void {
    for (const trip of trips.values()) {
      if (!isOver(trip, nowMs)) continue;
      trips.delete(trip.sign);
      onFree(trip);
    }
  }

  /** The trip that weighs most. */
  function heaviest(): Trip | null {
    let held: Trip | null = null;
    for (const trip of trips.values()) {
      const weighsMore = trip.hold === held?.hold ? trip.untilMs > held.untilMs : trip.hold === 'refused';
      if (held === null || weighsMore) held = trip;
    }
    return held;
  }

  function trip(sign: Sign, hold: Hold, figure: number, nowMs: number, forMs: number): void {
    const before = trips.get(sign);
    if (before?.hold === 'refused' && hold === 'slowed') return;
    const now = wallMs();
    const since = before?.hold === hold ? before.since : new Date(now).toISOString();
    const tripped: Trip = {
      sign,
      hold,
      figure,
      since,
      until: new Date(now + forMs).toISOString(),
      untilMs: nowMs + forMs,
    };
    trips.set(sign, tripped);
    if (before?.hold !== hold) onTrip(tripped);
  }

  /** Trips if that is what the figure means; what led to a refusal is then done with. */
  function judge(sign: 'not_found' | 'neighbours', figure: number, nowMs: number): void {
    const hold = holdOf(figure, sign === 'neighbours' ? NEIGHBOUR_BOUNDS : NOT_FOUND_BOUNDS);
    if (hold === null) return;
    endTrips(nowMs);
    trip(sign, hold, figure, nowMs, HOLD_MS);
    if (hold === 'refused') (sign === 'neighbours' ? neighbours : notFound).forget();
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
        trip('accounts_per_day', 'refused', seen.count(), nowMs, leftMs);
      }
      const held = heaviest();
      if (held?.hold === 'refused') return { kind: 'refused', reason: held.sign, retryAfterMs: held.untilMs - nowMs };
      if (held !== null && waiting === WAITING_MAX)
        return { kind: 'refused', reason: held.sign, retryAfterMs: slowedMs };
      seen.add(account);
      unheard.add(account);
      if (!trusted) judge('neighbours', neighbours.asked(bic, accountNumber, nowMs), nowMs);
      return held === null ? NEW : SLOWED;
    },
    async slow() {
      waiting += 1;
      await wait(slowedMs);
      waiting -= 1;
    },
    isFirstVerdict: (hash) => unheard.delete(shortened(hash)),
    heard(isNotFound, nowMs) {
      if (!bounds().trusted) judge('not_found', notFound.heard(isNotFound, nowMs), nowMs);
    },
    trips(nowMs) {
      today();
      endTrips(nowMs);
      return [...trips.values()];
    },
  };
}
