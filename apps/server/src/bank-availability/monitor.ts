import type { BankAvailability } from '../postgres/bank-availability.ts';
import type { BankHealth } from '../rails/bank-status.ts';

/**
 * A status that lasts less is not published: a short pause that a bank asked for, or an answer or two between failures.
 */
const STABLE_MS = 2_000;

interface StatusSince {
  readonly status: BankAvailability['status'];
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
}

/** Derives the availability of banks from the results of this process's own inquiries. */
export interface AvailabilityMonitor {
  /** The banks whose status has been stable for `stableMs`. Call it once a second, with each bank's health by BIC. */
  evaluate(healths: ReadonlyMap<string, BankHealth>, nowMs: number): BankAvailability[];
}

export function createAvailabilityMonitor(stableMs: number = STABLE_MS): AvailabilityMonitor {
  const statuses = new Map<string, StatusSince>();
  /** Banks that failed here while they answered another process: here they have been failing for longer. */
  const answeredOthers = new Set<string>();

  function updateStatus(bic: string, health: BankHealth, nowMs: number): StatusSince | undefined {
    // Without an answer of its own, this process does not know the status of a bank that answers another process.
    if (health.answersOthers && health.lastVerdictAgoMs === null) {
      statuses.delete(bic);
      answeredOthers.add(bic);
    }
    const before = statuses.get(bic);
    const status = statusOf(health) ?? before?.status;
    if (status === undefined || status === before?.status) return before;
    // The time at which the bank went DOWN is kept while it is DOWN: a later failed trial must not look newer than the
    // answer that another process has received. When the bank answers no other process any more, it is DOWN since then.
    const answeredOther = answeredOthers.delete(bic);
    const failedAt = status === 'DOWN' && !answeredOther ? health.since : null;
    const changed = { status, sinceMs: failedAt === null ? nowMs : Date.parse(failedAt) };
    statuses.set(bic, changed);
    return changed;
  }

  return {
    evaluate(healths, nowMs) {
      const stable: BankAvailability[] = [];
      for (const [bic, health] of healths) {
        const current = updateStatus(bic, health, nowMs);
        if (current === undefined || nowMs - current.sinceMs < stableMs) continue;
        const { status, sinceMs } = current;
        if (status === 'DOWN') stable.push({ bic, status, ageMs: nowMs - sinceMs });
        else if (health.lastVerdictAgoMs !== null) stable.push({ bic, status, ageMs: health.lastVerdictAgoMs });
      }
      return stable;
    },
  };
}

/** null while the status is unknown: a bank that is only on trial (circuit breaker half open) keeps its last status. */
function statusOf({ status, lastVerdictAgoMs }: BankHealth): BankAvailability['status'] | null {
  if (lastVerdictAgoMs !== null) return 'UP';
  return status === 'DOWN' ? 'DOWN' : null;
}
