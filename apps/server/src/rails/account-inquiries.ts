import type { Bank } from '../domain/bank.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { AccountInquiry, InquiryOutcome, Rail } from './rail.ts';

/** The caller is answered within 5 s, always (contract's decisions, "Check account"); the rest is for a process that is busy. */
const INQUIRY_DEADLINE_MS = 4_000;

export interface AccountInquiries {
  /** Whether any rail leads to the bank. */
  canReach(bank: Bank): boolean;
  inquire(inquiry: AccountInquiry): Promise<InquiryOutcome>;
}

/**
 * Chooses the rail for an inquiry, and sends the same question only once while it is under way: whoever asks
 * meanwhile gets the same answer, and no later than the one who asked first.
 */
export function createAccountInquiries(rails: readonly Rail[], metrics: Metrics): AccountInquiries {
  const underWay = new Map<string, Promise<InquiryOutcome>>();
  const railFor = (bank: Bank): Rail | undefined => rails.find((rail) => rail.reaches(bank));

  async function ask(rail: Rail, inquiry: AccountInquiry, key: string): Promise<InquiryOutcome> {
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), INQUIRY_DEADLINE_MS);
    const startedMs = performance.now();
    try {
      const outcome = await rail.inquireAccount(inquiry, deadline.signal);
      metrics.inquiries.record(rail.name, outcomeLabel(outcome), performance.now() - startedMs);
      return outcome;
    } finally {
      clearTimeout(timer);
      underWay.delete(key);
    }
  }

  return {
    canReach: (bank) => railFor(bank) !== undefined,
    inquire(inquiry) {
      const key = `${inquiry.bank.bic} ${inquiry.accountNumber.reveal()}`;
      const shared = underWay.get(key);
      if (shared !== undefined) {
        metrics.inquiriesShared.inc();
        return shared;
      }
      const rail = railFor(inquiry.bank);
      if (rail === undefined) return Promise.resolve(NO_RAIL);
      const asked = ask(rail, inquiry, key);
      underWay.set(key, asked);
      return asked;
    },
  };
}

const NO_RAIL: InquiryOutcome = { kind: 'no_verdict', reason: 'unreachable', railCode: null };

const outcomeLabel = (outcome: InquiryOutcome): string =>
  outcome.kind === 'verdict' ? outcome.verdict.status : outcome.reason;
