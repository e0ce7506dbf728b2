import type { BankAvailability } from '../postgres/bank-availability.ts';
import type { BankHealth } from '../rails/bank-status.ts';

/** What lasts less is no news: the short rest that a bank asked for, an answer or two between failures. */
const STEADY_MS = 2_000;

interface Seen {
  readonly status: BankAvailability['status'];
  /** Milliseconds since 1970. */
  readonly fromMs: number;
}

/** What this process can say of banks, by what became of its own questions. */
export interface AvailabilityMonitor {
  look(healths: ReadonlyMap<string, BankHealth>, nowMs: number): BankAvailability[];
}

export function createAvailabilityMonitor(): AvailabilityMonitor {
  const seenBanks = new Map<string, Seen>();

  function see(bic: string, health: BankHealth, nowMs: number): Seen | undefined {
    const before = seenBanks.get(bic);
    const status = statusOf(health) ?? before?.status;
    if (status === undefined || status === before?.status) return before;
    // When it went down is kept while it lasts: trials that fail later do not contradict a process that it answers.
    const fromMs = status === 'DOWN' && health.since !== null ? Date.parse(health.since) : nowMs;
    const seen = { status, fromMs };
    seenBanks.set(bic, seen);
    return seen;
  }

  return {
    look(healths, nowMs) {
      const states: BankAvailability[] = [];
      for (const [bic, health] of healths) {
        const seen = see(bic, health, nowMs);
        if (seen === undefined || nowMs - seen.fromMs < STEADY_MS) continue;
        const { status, fromMs } = seen;
        if (status === 'DOWN') states.push({ bic, status, ageMs: nowMs - fromMs });
        else if (health.lastVerdictAgoMs !== null) states.push({ bic, status, ageMs: health.lastVerdictAgoMs });
      }
      return states;
    },
  };
}

/** null while nobody can tell: a bank that is only being tried again is as it was. */
function statusOf({ status, lastVerdictAgoMs }: BankHealth): BankAvailability['status'] | null {
  if (lastVerdictAgoMs !== null) return 'UP';
  return status === 'DOWN' ? 'DOWN' : null;
}
