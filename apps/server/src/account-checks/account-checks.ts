import { setImmediate as nextTurn } from 'node:timers/promises';
import { createIsoClock } from '../lib/iso-clock.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import { type ClientInquiry, type InquiryOutcome, outcomeLabel } from '../rails/rail.ts';
import type { HashAccount } from './account-hash.ts';
import type { AuditLog } from './audit-log.ts';
import type { Blocked, CheckedAccount } from './enumeration/client-guard.ts';
import type { EnumerationGuard } from './enumeration/enumeration-guard.ts';
import { findJobSignal } from './enumeration/job-signal.ts';
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
   * Evaluates the different accounts of a new job as a whole, before any of them is checked. Returns for how long the
   * job must be paused, in ms: the enumeration guard blocks a client that could not check all of them one by one.
   */
  pauseForJob(clientId: string, accounts: readonly JobAccount[]): Promise<number | null>;
}

export interface JobAccount {
  readonly bic: string;
  readonly accountNumber: string;
}

/** Hashed within some milliseconds; the event loop gets a turn after each batch. */
const HASH_BATCH_MAX = 1_000;

export interface AccountChecksDependencies {
  readonly inquiries: Pick<AccountInquiries, 'inquire'>;
  /** Null when the installation caches no verdicts. */
  readonly verdictCache: VerdictCache | null;
  readonly hashAccount: HashAccount;
  readonly auditLog: Pick<AuditLog, 'requireCapacity' | 'add'>;
  readonly enumerationGuard: Omit<EnumerationGuard, 'restrictedClients' | 'close'>;
}

export function createAccountChecks(dependencies: AccountChecksDependencies): AccountChecks {
  const { inquiries, verdictCache, hashAccount, auditLog, enumerationGuard } = dependencies;
  const now = createIsoClock();

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

  /** The accounts that the client has not checked today, and that the guard may therefore block. */
  async function unknownAccounts(clientId: string, accounts: readonly JobAccount[]): Promise<JobAccount[]> {
    const unknown: JobAccount[] = [];
    for (const [index, account] of accounts.entries()) {
      if (!enumerationGuard.isKnown(clientId, hashAccount(account.bic, account.accountNumber))) unknown.push(account);
      if ((index + 1) % HASH_BATCH_MAX === 0) await nextTurn();
    }
    return unknown;
  }

  return {
    async pauseForJob(clientId, accounts) {
      if (enumerationGuard.isTrusted(clientId) || findJobSignal(accounts) === null) return null;
      const signal = findJobSignal(await unknownAccounts(clientId, accounts));
      return signal === null ? null : enumerationGuard.blockForJob(clientId, signal);
    },
    async check(inquiry, { ageMaxSeconds = 0, requestId } = {}) {
      auditLog.requireCapacity();
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
      try {
        const outcome = await inquiries.inquire(inquiry);
        audit(check, outcomeLabel(outcome), outcome);
        if (outcome.kind === 'verdict') {
          enumerationGuard.recordVerdict(clientId, check.hash, outcome.verdict.status);
          verdictCache?.put(clientId, check.hash, outcome);
        }
        return outcome;
      } catch (error) {
        audit(check, 'internal_error', null);
        throw error;
      }
    },
  };
}

interface Check extends CheckedAccount {
  readonly clientId: string;
  readonly requestId: string | undefined;
}
