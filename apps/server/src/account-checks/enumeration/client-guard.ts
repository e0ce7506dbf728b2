import { setTimeout as wait } from 'node:timers/promises';
import { jakartaDayOf, jakartaDayStartMs } from '../../domain/instant.ts';
import { createDailyAccounts, type DailyAccounts, shortHash } from './daily-accounts.ts';
import { createRestrictions, type EnumerationSignal, type Restriction, type Restrictions } from './restrictions.ts';
import { blockTag } from './sequential-numbers.ts';
import { createEnumerationSignals, type EnumerationSignals } from './signals.ts';
import type { ValidationSignal } from './validation-signal.ts';

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
  /** The decisions that need no count: the account is known, or the client is blocked. Null otherwise. */
  precheck(account: number, nowMs: number): Admission | null;
  /** The same decision for an account by its short hash, in a block by its tag, however many checks are delayed. */
  admitEntry(account: number, block: number, nowMs: number): Admission;
  /** Resolves when a check that was admitted as `slowed` may continue. */
  slow(): Promise<void>;
  /** Whether this is the first verdict about an account since it was admitted: a check may have ended without one. */
  isFirstVerdict(hash: string): boolean;
  /** Records a first verdict. */
  recordVerdict(isNotFound: boolean, nowMs: number): void;
  /** Whether the account was checked today. Such accounts stay available to a client that is restricted. */
  isKnown(hash: string): boolean;
  /** Blocks a client that the guard would not let check all accounts of a validation. Returns for how long, in ms. */
  blockForValidation(signal: ValidationSignal, nowMs: number): number;
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
  const { limits, wallMs, onRestricted, onLifted } = dependencies;
  const accounts = createDailyAccounts();
  // The operator may change the limits while a restriction is in force.
  const applies = (signal: EnumerationSignal): boolean =>
    signal === 'accounts_per_day' ? accounts.count() >= limits().accountsPerDay : !limits().trusted;
  const restrictions = createRestrictions({ wallMs, applies, onRestricted, onLifted });
  const signals = createEnumerationSignals(restrictions);
  const today = (): number => {
    if (accounts.moveTo(jakartaDayOf(wallMs()))) signals.startDay();
    return accounts.day();
  };
  const decisions = createDecisions({ ...dependencies, accounts, restrictions, signals, today });

  return {
    today,
    ...decisions,
    accountsToday: accounts.count,
    restore(day, hashes) {
      if (day === today()) for (const hash of hashes) accounts.restore(shortHash(hash));
    },
    admit({ bic, accountNumber, hash }, nowMs) {
      const account = shortHash(hash);
      const refused = decisions.precheck(account, nowMs);
      return refused ?? decisions.admitEntry(account, blockTag(bic, accountNumber), nowMs);
    },
    isFirstVerdict: (hash) => accounts.isFirstVerdict(shortHash(hash)),
    recordVerdict(isNotFound, nowMs) {
      if (!limits().trusted) signals.recordVerdict(isNotFound, nowMs);
    },
    isKnown(hash) {
      today();
      return accounts.has(shortHash(hash));
    },
    blockForValidation: signals.blockForValidation,
    restrictions(nowMs) {
      today();
      restrictions.liftEnded(nowMs);
      return restrictions.list();
    },
  };
}

interface DecisionDependencies extends Pick<ClientGuardDependencies, 'limits' | 'wallMs' | 'slowedMs'> {
  readonly accounts: DailyAccounts;
  readonly restrictions: Restrictions;
  readonly signals: EnumerationSignals;
  readonly today: () => number;
}

/** Decides on single checks. */
function createDecisions(dependencies: DecisionDependencies): Pick<ClientGuard, 'precheck' | 'admitEntry' | 'slow'> {
  const { limits, wallMs, slowedMs, accounts, restrictions, signals, today } = dependencies;
  let delayed = 0;

  function blockUntilTomorrow(day: number, nowMs: number): void {
    const durationMs = jakartaDayStartMs(day + 1) - wallMs();
    const signal = 'accounts_per_day';
    restrictions.impose({ signal, level: 'blocked', figure: accounts.count(), durationMs }, nowMs);
  }

  /** Known or blocked; null when the account is new and may be checked, if need be slowly. */
  function refusal(account: number, nowMs: number): Admission | null {
    const day = today();
    if (accounts.has(account)) return KNOWN;
    restrictions.liftEnded(nowMs);
    const isOverDay = accounts.count() >= limits().accountsPerDay;
    if (isOverDay && !restrictions.has('accounts_per_day')) blockUntilTomorrow(day, nowMs);
    const restriction = restrictions.strictest();
    return restriction?.level === 'blocked'
      ? { kind: 'blocked', reason: restriction.signal, retryAfterMs: restriction.untilMs - nowMs }
      : null;
  }

  return {
    precheck(account, nowMs) {
      const refused = refusal(account, nowMs);
      const restriction = restrictions.strictest();
      if (refused !== null || restriction === null || delayed < DELAYED_MAX) return refused;
      return { kind: 'blocked', reason: restriction.signal, retryAfterMs: slowedMs };
    },
    admitEntry(account, block, nowMs) {
      const refused = refusal(account, nowMs);
      if (refused !== null) return refused;
      const isSlowed = restrictions.strictest() !== null;
      accounts.add(account);
      if (!limits().trusted) signals.recordCheck(block, nowMs);
      return isSlowed ? SLOWED : NEW;
    },
    async slow() {
      delayed += 1;
      await wait(slowedMs);
      delayed -= 1;
    },
  };
}
