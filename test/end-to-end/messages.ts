import type { StatusInquiryOutcome } from '../../apps/server/src/rails/rail.ts';

/** The messages between a test and the service in its child process. */

/** The first message to the service. */
export interface ServiceSettings {
  readonly connectionString: string;
  /** Names of rails. The test decides the bank's answer to each inquiry. */
  readonly rails: readonly string[];
  /** Minutes until a transaction is overdue. */
  readonly overdueMinutes: number;
  /** Reading a transaction starts a new status inquiry if the last one is older than this. May be a fraction. */
  readonly staleSeconds: number;
}

export interface ServiceAddress {
  readonly publicUrl: string;
  readonly operatorUrl: string;
}

/** A bank's answer. `garbage` makes the rail reject, which its interface forbids. */
export type BankAnswer = StatusInquiryOutcome | 'garbage';

export type ToService =
  | { readonly kind: 'answer'; readonly inquiry: number; readonly outcome: BankAnswer }
  /** Mark the transactions that are overdue at this time (ISO 8601 UTC). */
  | { readonly kind: 'mark overdue'; readonly now: string; readonly limit: number };

export type FromService =
  | { readonly kind: 'ready'; readonly address: ServiceAddress }
  | { readonly kind: 'inquiry'; readonly inquiry: number; readonly reference: string }
  /** How many were marked; null when that failed. */
  | { readonly kind: 'marked overdue'; readonly count: number | null };
