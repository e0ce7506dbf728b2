/** What a client is told about: by callbacks, and in the list of events. */

/** About a transaction. */
export const DISBURSEMENT_KINDS = [
  /** The status became SUCCESS. */
  'disbursement.succeeded',
  /** The status became FAILED; `failure_reason` says why. */
  'disbursement.failed',
  /** Still in PROCESS, for longer than is usual at its bank. The status does not change. */
  'disbursement.overdue',
  /** After SUCCESS the bank gave the money back. The status stays SUCCESS. */
  'disbursement.reversed',
] as const;

/** About a job that validates many accounts. */
export const ACCOUNT_VALIDATION_KINDS = [
  /** Nothing more will come of it. */
  'account_validation.ended',
] as const;

/** About a bank. */
export const BANK_KINDS = [
  /** No rail to it answers any more. */
  'bank.down',
  /** It answers again. */
  'bank.up',
] as const;

export const EVENT_KINDS = [...DISBURSEMENT_KINDS, ...ACCOUNT_VALIDATION_KINDS, ...BANK_KINDS] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

export const isEventKind = (text: string): text is EventKind => (EVENT_KINDS as readonly string[]).includes(text);

/** Names an event wherever it is told of: each raises its subject's version by one. */
export const eventId = (subjectId: string, version: number): string => `evt_${subjectId}_${version}`;
