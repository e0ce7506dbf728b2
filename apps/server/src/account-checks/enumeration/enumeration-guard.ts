import type { AccountStatus } from '../../domain/account.ts';
import { jakartaDayStartMs } from '../../domain/instant.ts';
import type { Log } from '../../observability/log.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { HashAccount } from '../account-hash.ts';
import {
  type Admission,
  type CheckedAccount,
  type ClientGuard,
  type ClientLimits,
  createClientGuard,
} from './client-guard.ts';
import { shortHash } from './daily-accounts.ts';
import { type CheckLog, type ClientReplica, createClientReplica } from './replica.ts';
import { ENUMERATION_SIGNALS, RESTRICTION_LEVELS, type Restriction } from './restrictions.ts';
import { sharedPart } from './sequential-numbers.ts';
import type { ValidationSignal } from './validation-signal.ts';

/**
 * Protects account holders' names against enumeration (OWASP "account enumeration"). It watches each client for signals
 * that the client collects accounts instead of paying to them. A client that shows one is slowed, then blocked, for
 * accounts that it has not checked today; accounts that it has checked today stay available to it. With a
 * log that all processes share, all of them watch together; otherwise each process watches for itself.
 */
export interface EnumerationGuard {
  /** Decides on a client's check of an account. The check counts unless it is blocked. */
  admit(clientId: string, account: CheckedAccount): Admission | Promise<Admission>;
  /** Resolves when a check that was admitted as `slowed` may continue. */
  slow(clientId: string): Promise<void>;
  /** Records a verdict about an account that was admitted. Only the first one about each account counts. */
  recordVerdict(clientId: string, hash: string, status: AccountStatus): void;
  /** Whether the client may check any account without showing a signal: only its accounts per day are limited. */
  isTrusted(clientId: string): boolean;
  /** Whether the client has checked the account today: it may check it again while it is restricted. */
  isKnown(clientId: string, hash: string): boolean;
  /** Blocks a client that the guard would not let check all accounts of a validation. Returns for how long, in ms. */
  blockForValidation(clientId: string, signal: ValidationSignal): number;
  /** The clients that are slowed or blocked now. */
  restrictedClients(): readonly RestrictedClient[];
  close(): void;
}

export interface RestrictedClient {
  readonly clientId: string;
  readonly accountsToday: number;
  readonly accountsPerDay: number;
  readonly restrictions: readonly Restriction[];
}

export interface EnumerationGuardOptions {
  /** Milliseconds on a monotonic clock. */
  readonly clock?: () => number;
  /** Milliseconds since 1970. */
  readonly wallClock?: () => number;
  /** How long a check is delayed while its client is slowed. */
  readonly slowedMs?: number;
}

export interface EnumerationGuardDependencies extends EnumerationGuardOptions {
  readonly limitsOf: (clientId: string) => ClientLimits;
  /** Calls `restore` with the hashes of the accounts that a client has checked since then (ISO 8601 UTC). */
  readonly readCheckedAccounts: (
    clientId: string,
    since: string,
    restore: (hashes: readonly string[]) => void,
  ) => Promise<void>;
  /** What all processes report; null where each process watches for itself. */
  readonly checkLog: CheckLog | null;
  readonly hashAccount: HashAccount;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'enumerationRestrictions'>;
}

/** A part of the 5 s within which a client is promised its answer: the bank has what is left. */
const SLOWED_MS = 500;
const SWEEP_INTERVAL_MS = 5_000;

export function createEnumerationGuard(dependencies: EnumerationGuardDependencies): EnumerationGuard {
  const { limitsOf, hashAccount, clock = () => performance.now() } = dependencies;
  const { guards, guardOf, replicaOf, sweep } = createGuards(dependencies);

  const timer = setInterval(sweep, SWEEP_INTERVAL_MS).unref();
  return {
    admit(clientId, account) {
      const guard = guardOf(clientId);
      const replica = replicaOf(clientId);
      return replica === undefined
        ? guard.admit(account, clock())
        : replica.admit(account.hash, blockHash(hashAccount, account));
    },
    slow: (clientId) => guardOf(clientId).slow(),
    recordVerdict(clientId, hash, status) {
      const guard = guards.get(clientId);
      if (guard?.isFirstVerdict(hash) !== true) return;
      const replica = replicaOf(clientId);
      if (replica === undefined) guard.recordVerdict(status === 'NOT_FOUND', clock());
      else replica.recordVerdict(status === 'NOT_FOUND');
    },
    isTrusted: (clientId) => limitsOf(clientId).trusted,
    isKnown: (clientId, hash) => guardOf(clientId).isKnown(hash),
    blockForValidation(clientId, signal) {
      const guard = guardOf(clientId);
      return replicaOf(clientId)?.blockForValidation(signal) ?? guard.blockForValidation(signal, clock());
    },
    restrictedClients() {
      const nowMs = clock();
      return [...guards].flatMap(([clientId, guard]) => {
        const restrictions = guard.restrictions(nowMs);
        const { accountsPerDay } = limitsOf(clientId);
        return restrictions.length === 0
          ? []
          : [{ clientId, accountsToday: guard.accountsToday(), accountsPerDay, restrictions }];
      });
    },
    close: () => clearInterval(timer),
  };
}

/** The guards of all clients. */
function createGuards(dependencies: EnumerationGuardDependencies) {
  const { limitsOf, readCheckedAccounts, checkLog, log, metrics } = dependencies;
  const { clock = () => performance.now(), wallClock = Date.now, slowedMs = SLOWED_MS } = dependencies;
  const guards = new Map<string, ClientGuard>();
  const replicas = new Map<string, ClientReplica>();
  /** The guards for which reading the earlier checks of today failed. */
  const notRestored = new Map<string, ClientGuard>();
  /** Another process has reported what happens now. */
  let isQuiet = false;
  // From 0 on: Prometheus sees no increase in a series that begins with 1, so TibaEnumeration would miss the first one.
  for (const signal of ENUMERATION_SIGNALS)
    for (const level of RESTRICTION_LEVELS) metrics.enumerationRestrictions.inc({ signal, level }, 0);

  function createGuard(clientId: string): ClientGuard {
    const guard = createClientGuard({
      limits: () => limitsOf(clientId),
      wallMs: wallClock,
      slowedMs,
      onRestricted({ signal, level, figure }) {
        if (isQuiet) return;
        metrics.enumerationRestrictions.inc({ signal, level });
        log.warn({ clientId, signal, restriction: level, figure }, 'enumeration guard restricted a client');
      },
      onLifted: ({ signal, level }) =>
        log.info({ clientId, signal, restriction: level }, 'enumeration guard lifted a restriction'),
    });
    guards.set(clientId, guard);
    if (checkLog === null) restoreToday(clientId, guard);
    else replicas.set(clientId, createReplica(clientId, guard, checkLog));
    return guard;
  }

  const createReplica = (clientId: string, guard: ClientGuard, shared: CheckLog): ClientReplica =>
    createClientReplica({
      clientId,
      guard,
      log: shared,
      clock,
      setQuiet: (quiet) => void (isQuiet = quiet),
      // Only now: an account that is known already would be no signal when another process reports it.
      onFirstRead: () => restoreToday(clientId, guard),
    });

  /** A restart of the process must not give a client its accounts per day again. */
  function restoreToday(clientId: string, guard: ClientGuard): void {
    const day = guard.today();
    const since = new Date(jakartaDayStartMs(day)).toISOString();
    readCheckedAccounts(clientId, since, (hashes) => guard.restore(day, hashes)).catch((error: unknown) => {
      notRestored.set(clientId, guard);
      log.warn({ clientId, err: error }, "reading a client's account checks of today failed; will retry");
    });
  }

  function sweep(): void {
    const nowMs = clock();
    for (const guard of guards.values()) guard.restrictions(nowMs);
    for (const [clientId, guard] of notRestored) {
      notRestored.delete(clientId);
      restoreToday(clientId, guard);
    }
  }

  return {
    guards,
    guardOf: (clientId: string): ClientGuard => guards.get(clientId) ?? createGuard(clientId),
    replicaOf: (clientId: string): ClientReplica | undefined => replicas.get(clientId),
    sweep,
  };
}

/** The block of an account, for the log: nothing in it tells the number without Tiba's secret key. */
const blockHash = (hashAccount: HashAccount, { bic, accountNumber }: CheckedAccount): number =>
  shortHash(hashAccount(bic, `${accountNumber.length} ${sharedPart(accountNumber)}`)) >>> 0;
