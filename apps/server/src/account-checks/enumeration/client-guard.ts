import { setTimeout as wait } from 'node:timers/promises';
import { jakartaDayOf, jakartaDayStartMs } from '../../domain/instant.ts';
import { createDailyAccounts, shortHash } from './daily-accounts.ts';
import type { JobSignal } from './job-signal.ts';
import { createRestrictions, type EnumerationSignal, type Restriction } from './restrictions.ts';
import { createEnumerationSignals } from './signals.ts';

/** The decision on one check. `known`: the account was checked earlier today, so the check counts for nothing. */
export type Admission = { readonly kind: 'known' | 'new' | 'slowed' } | Blocked;

export interface Blocked {
  readonly kind: 'blocked';
  readonly reason: EnumerationSignal;
  readonly retryAfterMs: number;
}

/** The operator's settings for a client. */
export interface ClientLimits {
  readonly accountsPerDay: number;
  /** Only `accountsPerDay` restricts a trusted client. */
  readonly trusted: boolean;
}

/** The account checks of one client, as this process has seen them. `nowMs` is on a monotonic clock. */
export interface ClientGuard {
  /** Decides whether this account may be checked now. The check counts unless it is blocked. */
  admit(account: CheckedAccount, nowMs: number): Admission;
  /** Resolves when a check that was admitted as `slowed` may continue. */
  slow(): Promise<void>;
  /** Whether this is the first verdict about an account since it was admitted: a check may have ended without one. */
  isFirstVerdict(hash: string): boolean;
  /** Records a first verdict. */
  recordVerdict(isNotFound: boolean, nowMs: number): void;
  /** Whether the account was checked today. Such accounts stay available to a client that is restricted. */
  isKnown(hash: string): boolean;
  /** Blocks a client for a job of which the guard would not let it check all accounts. Returns for how long, in ms. */
  blockForJob(signal: JobSignal, nowMs: number): number;
  /** The restrictions in force. Lifts those that have ended. */
  restrictions(nowMs: number): readonly Restriction[];
  accountsToday(): number;
  /** The client's current day: see `jakartaDayOf`. */
  today(): number;
  /** Adds accounts that the client checked on that day before this process started. */
  restore(day: number, hashes: readonly string[]): void;
}

export interface CheckedAccount {
  readonly bic: string;
  readonly accountNumber: string;
  readonly hash: string;
}

export interface ClientGuardDependencies {
  readonly limits: () => ClientLimits;
  /** Milliseconds since 1970. */
  readonly wallMs: () => number;
  /** How long a check is delayed while the client is slowed. */
  readonly slowedMs: number;
  readonly onRestricted: (restriction: Restriction) => void;
  readonly onLifted: (restriction: Restriction) => void;
}

/**
 * Checks of one client that may be delayed at the same time. With `slowedMs` of 500 that lets eight a second through.
 */
const DELAYED_MAX = 4;

const KNOWN: Admission = { kind: 'known' };
const NEW: Admission = { kind: 'new' };
const SLOWED: Admission = { kind: 'slowed' };

export function createClientGuard(dependencies: ClientGuardDependencies): ClientGuard {
  const { limits, wallMs, slowedMs, onRestricted, onLifted } = dependencies;
  const accounts = createDailyAccounts();
  // The operator may change the limits while a restriction is in force.
  const applies = (signal: EnumerationSignal): boolean =>
    signal === 'accounts_per_day' ? accounts.count() >= limits().accountsPerDay : !limits().trusted;
  const restrictions = createRestrictions({ wallMs, applies, onRestricted, onLifted });
  const signals = createEnumerationSignals(restrictions);
  let delayed = 0;

  function today(): number {
    if (accounts.moveTo(jakartaDayOf(wallMs()))) signals.startDay();
    return accounts.day();
  }

  function blockUntilTomorrow(day: number, nowMs: number): void {
    const durationMs = jakartaDayStartMs(day + 1) - wallMs();
    const signal = 'accounts_per_day';
    restrictions.impose({ signal, level: 'blocked', figure: accounts.count(), durationMs }, nowMs);
  }

  return {
    today,
    accountsToday: accounts.count,
    restore(day, hashes) {
      if (day === today()) for (const hash of hashes) accounts.restore(shortHash(hash));
    },
    admit({ bic, accountNumber, hash }, nowMs) {
      const day = today();
      const account = shortHash(hash);
      if (accounts.has(account)) return KNOWN;
      restrictions.liftEnded(nowMs);
      const { accountsPerDay, trusted } = limits();
      if (accounts.count() >= accountsPerDay && !restrictions.has('accounts_per_day')) blockUntilTomorrow(day, nowMs);
      const restriction = restrictions.strictest();
      if (restriction?.level === 'blocked')
        return { kind: 'blocked', reason: restriction.signal, retryAfterMs: restriction.untilMs - nowMs };
      if (restriction !== null && delayed === DELAYED_MAX)
        return { kind: 'blocked', reason: restriction.signal, retryAfterMs: slowedMs };
      accounts.add(account);
      if (!trusted) signals.recordCheck(bic, accountNumber, nowMs);
      return restriction === null ? NEW : SLOWED;
    },
    async slow() {
      delayed += 1;
      await wait(slowedMs);
      delayed -= 1;
    },
    isFirstVerdict: (hash) => accounts.isFirstVerdict(shortHash(hash)),
    recordVerdict(isNotFound, nowMs) {
      if (!limits().trusted) signals.recordVerdict(isNotFound, nowMs);
    },
    isKnown(hash) {
      today();
      return accounts.has(shortHash(hash));
    },
    blockForJob: signals.blockForJob,
    restrictions(nowMs) {
      today();
      restrictions.liftEnded(nowMs);
      return restrictions.list();
    },
  };
}
