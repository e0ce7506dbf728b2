import type { StatusInquiryOutcome } from '../../apps/server/src/rails/rail.ts';

/** What a test and the service in its own process say to each other. */

/** The first message to it. */
export interface ServiceSettings {
  readonly connectionString: string;
  /** Names of rails; what their banks answer, the test decides question by question. */
  readonly rails: readonly string[];
  /** Minutes until a transaction is overdue. */
  readonly overdueMinutes: number;
  /** May be a fraction: how long ago a transaction was asked about that is asked about again when it is read. */
  readonly staleSeconds: number;
}

export interface ServiceAddress {
  readonly publicUrl: string;
  readonly operatorUrl: string;
}

/** What a bank answers; `garbage` breaks the port's promise never to reject. */
export type BankAnswer = StatusInquiryOutcome | 'garbage';

export type ToService =
  | { readonly kind: 'answer'; readonly question: number; readonly outcome: BankAnswer }
  /** Look for what is overdue at this moment (ISO 8601 UTC). */
  | { readonly kind: 'observe time'; readonly now: string; readonly limit: number };

export type FromService =
  | { readonly kind: 'ready'; readonly address: ServiceAddress }
  | { readonly kind: 'question'; readonly question: number; readonly reference: string }
  /** How many were overdue; null when it could not be found out. */
  | { readonly kind: 'observed'; readonly count: number | null };
