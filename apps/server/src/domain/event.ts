/** The events that clients are notified of, by callbacks and in the list of events. */

/** Events of a transaction. */
export const DISBURSEMENT_KINDS = [
  /** The status became SUCCESS. */
  'disbursement.succeeded',
  /** The status became FAILED; `failure_reason` says why. */
  'disbursement.failed',
  /** Still in PROCESS, for longer than expected of its bank. The status does not change. */
  'disbursement.overdue',
  /** The bank returned the money after SUCCESS. The status stays SUCCESS. */
  'disbursement.reversed',
] as const;

/** Events of an account validation. */
export const ACCOUNT_VALIDATION_KINDS = [
  /** The validation is COMPLETED or CANCELLED; no more results follow. */
  'account_validation.ended',
] as const;

/** Events of a bank. */
export const BANK_KINDS = [
  /** No rail to it answers any more. */
  'bank.down',
  /** A rail to it answers again. */
  'bank.up',
] as const;

export const EVENT_KINDS = [...DISBURSEMENT_KINDS, ...ACCOUNT_VALIDATION_KINDS, ...BANK_KINDS] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

export const isEventKind = (text: string): text is EventKind => (EVENT_KINDS as readonly string[]).includes(text);

/** The same in callbacks and in the list of events. Unique: each event raises its subject's version by one. */
export const eventId = (subjectId: string, version: number): string => `evt_${subjectId}_${version}`;
