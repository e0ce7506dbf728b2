import { setImmediate as nextTurn } from 'node:timers/promises';
import { createIsoClock } from '../lib/iso-clock.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import { type ClientInquiry, type InquiryOutcome, outcomeLabel } from '../rails/rail.ts';
import type { HashAccount } from './account-hash.ts';
import type { AuditLog } from './audit-log.ts';
import type { Blocked, CheckedAccount } from './enumeration/client-guard.ts';
import type { EnumerationGuard } from './enumeration/enumeration-guard.ts';
import { findValidationSignal } from './enumeration/validation-signal.ts';
import type { VerdictCache } from './verdict-cache.ts';

/** The outcome of an inquiry. `ageSeconds` is set only when the verdict comes from the cache. */
type ServedOutcome = InquiryOutcome & { readonly ageSeconds?: number };

/** The outcome of one account check. */
export type CheckOutcome =
  | ServedOutcome
  /** No inquiry was sent: the enumeration guard blocks the client. */
  | Blocked;

export interface CheckOptions {
  /** The oldest cached verdict that the client accepts, in seconds. 0, the default, accepts a new verdict only. */
  readonly ageMaxSeconds?: number;
  /** The ID of the HTTP request, for the audit log. */
  readonly requestId?: string;
}

/**
 * The one way from a client to an account inquiry, for single checks and for bulk validations. Each check is audited.
 */
export interface AccountChecks {
  /** @throws DatabaseUnavailable when the audit log is full. No inquiry is sent then. */
  check(inquiry: ClientInquiry, options?: CheckOptions): Promise<CheckOutcome>;
  /**
   * Evaluates the different accounts of a new validation as a whole, before any of them is checked. Returns for how
   * long the validation must be paused, in ms: the enumeration guard blocks a client that could not check all of them
   * one by one.
   */
  pauseForValidation(clientId: string, accounts: readonly ValidationAccount[]): Promise<number | null>;
  /**
   * Waits for the checks in progress, for at most 5 seconds. A client that has gone no longer waits for its answer, but
   * its inquiry was sent and must be audited.
   */
  close(): Promise<void>;
}

export interface ValidationAccount {
  readonly bic: string;
  readonly accountNumber: string;
}

/** More than the deadline of an inquiry. */
const CLOSE_TIMEOUT_MS = 5_000;

/** Hashed within some milliseconds; the event loop gets a turn after each batch. */
const HASH_BATCH_MAX = 1_000;

export interface AccountChecksDependencies {
  readonly inquiries: Pick<AccountInquiries, 'inquire'>;
  /** Null when the installation caches no verdicts. */
  readonly verdictCache: VerdictCache | null;
  readonly hashAccount: HashAccount;
  readonly auditLog: Pick<AuditLog, 'requireCapacity' | 'add'>;
  readonly enumerationGuard: Omit<EnumerationGuard, 'restrictedClients' | 'close'>;
  /** PostgreSQL's time, which stamps audit records: milliseconds since 1970. */
  readonly now: () => number;
}

export function createAccountChecks(dependencies: AccountChecksDependencies): AccountChecks {
  const { inquiries, verdictCache, hashAccount, auditLog, enumerationGuard } = dependencies;
  const now = createIsoClock(dependencies.now);
  const inProgress = createInProgress();

  function audit({ clientId, bic, hash, requestId }: Check, outcome: string, served: ServedOutcome | null): void {
    auditLog.add({
      client_id: clientId,
      checked_at: now(),
      bic,
      account_hash: hash,
      outcome,
      rail: served?.rail ?? null,
      age_seconds: served?.ageSeconds === undefined ? null : String(served.ageSeconds),
      request_id: requestId ?? null,
    });
  }

  return {
    async pauseForValidation(clientId, accounts) {
      if (enumerationGuard.isTrusted(clientId) || findValidationSignal(accounts) === null) return null;
      const signal = findValidationSignal(await unknownAccounts(dependencies, clientId, accounts));
      return signal === null ? null : enumerationGuard.blockForValidation(clientId, signal);
    },
    close: () => inProgress.whenNone(CLOSE_TIMEOUT_MS),
    async check(inquiry, { ageMaxSeconds = 0, requestId } = {}) {
      auditLog.requireCapacity(inquiry.clientId);
      inProgress.begin();
      try {
        const { clientId } = inquiry;
        const { bic } = inquiry.bank;
        const accountNumber = inquiry.accountNumber.reveal();
        const check: Check = { clientId, bic, accountNumber, hash: hashAccount(bic, accountNumber), requestId };
        const found = ageMaxSeconds === 0 ? null : (verdictCache?.find(clientId, check.hash, ageMaxSeconds) ?? null);
        const cached = found instanceof Promise ? await found : found;
        if (cached !== null) {
          const served = { ...cached.outcome, ageSeconds: cached.ageSeconds };
          audit(check, outcomeLabel(served), served);
          return served;
        }
        const admitted = enumerationGuard.admit(clientId, check);
        const admission = admitted instanceof Promise ? await admitted : admitted;
        if (admission.kind === 'blocked') {
          audit(check, admission.reason, null);
          return admission;
        }
        if (admission.kind === 'slowed') await enumerationGuard.slow(clientId);
        let outcome: InquiryOutcome | null = null;
        try {
          outcome = await inquiries.inquire(inquiry);
        } finally {
          audit(check, outcome === null ? 'internal_error' : outcomeLabel(outcome), outcome);
        }
        if (outcome.kind === 'verdict') {
          enumerationGuard.recordVerdict(clientId, check.hash, outcome.verdict.status);
          verdictCache?.put(clientId, check.hash, outcome);
        }
        return outcome;
      } finally {
        inProgress.end();
      }
    },
  };
}

/** The accounts that the client has not checked today, and that the guard may therefore block. */
async function unknownAccounts(
  { enumerationGuard, hashAccount }: AccountChecksDependencies,
  clientId: string,
  accounts: readonly ValidationAccount[],
): Promise<ValidationAccount[]> {
  const unknown: ValidationAccount[] = [];
  for (const [index, account] of accounts.entries()) {
    if (!enumerationGuard.isKnown(clientId, hashAccount(account.bic, account.accountNumber))) unknown.push(account);
    if ((index + 1) % HASH_BATCH_MAX === 0) await nextTurn();
  }
  return unknown;
}

/** Counts what is in progress, without a cost for each. */
function createInProgress() {
  let count = 0;
  const none = Promise.withResolvers<void>();
  let isAwaited = false;
  return {
    begin: () => void (count += 1),
    end() {
      count -= 1;
      if (isAwaited && count === 0) none.resolve();
    },
    /** Resolves when nothing is in progress, or after `timeoutMs`. */
    async whenNone(timeoutMs: number): Promise<void> {
      isAwaited = true;
      if (count === 0) return;
      const timer = setTimeout(none.resolve, timeoutMs);
      await none.promise;
      clearTimeout(timer);
    },
  };
}

interface Check extends CheckedAccount {
  readonly clientId: string;
  readonly requestId: string | undefined;
}
