// A rail whose outcomes the test scripts. The code that chooses and protects rails knows nothing but the port.

import type { AccountInquiry, InquiryOutcome, NoVerdictReason, Rail } from '../../../apps/server/src/rails/rail.ts';

export type Script = (inquiry: AccountInquiry, signal: AbortSignal) => InquiryOutcome | Promise<InquiryOutcome>;

export interface ScriptedRail extends Rail {
  /** The inquiries in the order of their arrival. */
  readonly inquiries: readonly { readonly account: string; readonly bic: string; readonly signal: AbortSignal }[];
  script: Script;
}

export function scriptedRail(name: string, script: Script, changes: Partial<Rail> = {}): ScriptedRail {
  const inquiries: ScriptedRail['inquiries'][number][] = [];
  const rail: ScriptedRail = {
    name,
    inquiries,
    script,
    reaches: () => true,
    inquireAccount(inquiry, signal) {
      inquiries.push({ account: inquiry.accountNumber.reveal(), bic: inquiry.bank.bic, signal });
      return Promise.resolve(rail.script(inquiry, signal));
    },
    close: () => Promise.resolve(),
    ...changes,
  };
  return rail;
}

export const active = (accountName: string): InquiryOutcome => ({
  kind: 'verdict',
  verdict: { status: 'ACTIVE', accountName },
  railCode: '2001600',
});

export const NOT_FOUND: InquiryOutcome = { kind: 'verdict', verdict: { status: 'NOT_FOUND' }, railCode: '4041611' };

export const noVerdict = (reason: NoVerdictReason, railCode: string | null = null): InquiryOutcome => ({
  kind: 'no_verdict',
  reason,
  railCode,
});

/** The outcome without the name of its rail. */
export const withoutRail = ({ rail: _name, ...outcome }: InquiryOutcome): InquiryOutcome => outcome;

/** Ends only when the inquiry is cancelled. */
export const silence: Script = (_inquiry, signal) =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(noVerdict('timeout')), { once: true });
  });

/** A generator of different account numbers. */
export function accounts(): () => string {
  let last = 1_000_000_000;
  return () => String((last += 1));
}
