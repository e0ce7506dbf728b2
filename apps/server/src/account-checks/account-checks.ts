import { keyOf } from '../domain/identifiers.ts';
import { createIsoClock } from '../lib/iso-clock.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import { type AccountInquiry, type InquiryOutcome, outcomeLabel } from '../rails/rail.ts';
import type { HashAccount } from './account-hash.ts';
import type { AuditLog } from './audit-log.ts';
import type { Blocked, CheckedAccount } from './enumeration/client-guard.ts';
import type { EnumerationGuard } from './enumeration/enumeration-guard.ts';
import type { VerdictCache } from './verdict-cache.ts';

/** What the banks have said, now or a while ago. `ageSeconds`: how old it is, where it is a verdict that was kept. */
type Answered = InquiryOutcome & { readonly ageSeconds?: number };

/** What came of a client's question about an account. */
export type CheckOutcome =
  | Answered
  /** No bank was asked: the client asks as if it were collecting accounts. */
  | Blocked;

export interface CheckOptions {
  /** The oldest verdict that will do; 0, or left out, for none but a new one. */
  readonly ageMaxSeconds?: number;
  /** The request that the question came with. */
  readonly requestId?: string;
}

/** Questions of clients about accounts, whichever way they come. Each leaves a record. */
export interface AccountChecks {
  /** @throws DatabaseUnavailable when no record could be kept of it: no bank is asked then. */
  check(client: { readonly clientId: string }, inquiry: AccountInquiry, options?: CheckOptions): Promise<CheckOutcome>;
}

export interface AccountChecksDependencies {
  readonly inquiries: Pick<AccountInquiries, 'inquire'>;
  /** Null where none are kept. */
  readonly verdictCache: VerdictCache | null;
  readonly hashAccount: HashAccount;
  readonly auditLog: Pick<AuditLog, 'requireRoom' | 'add'>;
  readonly enumerationGuard: Pick<EnumerationGuard, 'admit' | 'slow' | 'heard'>;
}

export function createAccountChecks(dependencies: AccountChecksDependencies): AccountChecks {
  const { inquiries, verdictCache, hashAccount, auditLog, enumerationGuard } = dependencies;
  const now = createIsoClock();

  function record({ clientId, bic, hash, requestId }: Asked, outcome: string, answered: Answered | null): void {
    auditLog.add({
      client_id: clientId,
      checked_at: now(),
      bic,
      account_hash: hash,
      outcome,
      rail: answered?.rail ?? null,
      age_seconds: answered?.ageSeconds === undefined ? null : String(answered.ageSeconds),
      request_id: requestId ?? null,
    });
  }

  return {
    async check({ clientId }, inquiry, { ageMaxSeconds = 0, requestId } = {}) {
      auditLog.requireRoom();
      const { bic } = inquiry.bank;
      const accountNumber = inquiry.accountNumber.reveal();
      const asked: Asked = { clientId, bic, accountNumber, hash: hashAccount(bic, accountNumber), requestId };
      const kept =
        ageMaxSeconds === 0 ? null : (verdictCache?.find(keyOf(clientId, asked.hash), ageMaxSeconds) ?? null);
      if (kept !== null) {
        const earlier = { ...kept.outcome, ageSeconds: kept.ageSeconds };
        record(asked, outcomeLabel(earlier), earlier);
        return earlier;
      }
      const admission = enumerationGuard.admit(clientId, asked);
      if (admission.kind === 'blocked') {
        record(asked, admission.reason, null);
        return admission;
      }
      if (admission.kind === 'slowed') await enumerationGuard.slow(clientId);
      try {
        const outcome = await inquiries.inquire(inquiry);
        record(asked, outcomeLabel(outcome), outcome);
        if (outcome.kind === 'verdict') {
          enumerationGuard.heard(clientId, asked.hash, outcome.verdict.status);
          verdictCache?.keep(keyOf(clientId, asked.hash), outcome);
        }
        return outcome;
      } catch (error) {
        record(asked, 'internal_error', null);
        throw error;
      }
    },
  };
}

interface Asked extends CheckedAccount {
  readonly clientId: string;
  readonly requestId: string | undefined;
}
