/** What a client is told about: by callbacks, and in the list of events. */
export const EVENT_KINDS = [
  /** The status became SUCCESS. */
  'disbursement.succeeded',
  /** The status became FAILED; `failure_reason` says why. */
  'disbursement.failed',
  /** Still in PROCESS, for longer than is usual at its bank. The status does not change. */
  'disbursement.overdue',
  /** After SUCCESS the bank gave the money back. The status stays SUCCESS. */
  'disbursement.reversed',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

export const isEventKind = (text: string): text is EventKind => (EVENT_KINDS as readonly string[]).includes(text);

/** Names an event wherever it is told of: each raises its transaction's version by one. */
export const eventId = (transactionId: string, version: number): string => `evt_${transactionId}_${version}`;
