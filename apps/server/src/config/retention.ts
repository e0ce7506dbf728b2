import { setting, text, wholeNumber, withDefault } from './values.ts';

/** For how long records are kept: config.ts takes these settings in. */
export const RETENTION_SETTINGS = {
  accountValidationDays: withDefault(
    'TIBA_ACCOUNT_VALIDATION_DAYS',
    '7',
    wholeNumber(1, 3_650),
    'Days after which an account validation that has ended is deleted, with its account numbers and names.',
  ),
  transactionDays: withDefault(
    'TIBA_TRANSACTION_DAYS',
    '3650',
    wholeNumber(0, 36_500),
    'Days for which a transaction is kept after it became final. 0: no limit.',
  ),
  eventDays: withDefault(
    'TIBA_EVENT_DAYS',
    '400',
    wholeNumber(0, 36_500),
    'Days for which clients can read an event, or have its callback replayed. 0: no limit.',
  ),
  callbackDays: withDefault(
    'TIBA_CALLBACK_DAYS',
    '90',
    wholeNumber(0, 36_500),
    'Days for which the deliveries of callbacks are kept with their attempts. 0: no limit.',
  ),
  messageDays: withDefault(
    'TIBA_MESSAGE_DAYS',
    '400',
    wholeNumber(0, 36_500),
    'Days for which the messages of status updates are kept as they were received. 0: no limit.',
  ),
  auditDays: withDefault(
    'TIBA_AUDIT_DAYS',
    '400',
    wholeNumber(0, 36_500),
    'Days for which the audit record of an account check is kept. 0: no limit.',
  ),
  archiveDirectory: setting(
    'TIBA_ARCHIVE_DIRECTORY',
    text,
    'Directory, the same for all processes, into which finished transactions are written with their history before a ' +
      'retention removes it: [the archive](operating.md#the-archive). Not set: there is none.',
  ),
  archiveDays: withDefault(
    'TIBA_ARCHIVE_DAYS',
    '45',
    wholeNumber(1, 36_500),
    'Days for which a finished transaction waits for the archive, and up to 31 more: months are archived as a whole.',
  ),
  legalHoldDays: setting(
    'TIBA_LEGAL_HOLD_DAYS',
    wholeNumber(0, 36_500),
    'Days after its end for which a transaction must be kept as it was: `person erase` leaves it until then. That ' +
      'command needs it, and nothing else uses it: a default could be shorter than your law.',
  ),
} as const;

/** Days for which records are kept; 0: no limit. null where the setting has a fault of its own. */
interface KeptDays {
  readonly callbackDays: number | null;
  readonly eventDays: number | null;
  readonly transactionDays: number | null;
}

/** A callback needs its event, and an event its transaction. */
export function findRetentionFaults({ callbackDays, eventDays, transactionDays }: KeptDays): string[] {
  const outlives = (one: number | null, other: number | null): boolean =>
    one !== null && other !== null && other !== 0 && (one === 0 || one > other);
  return [
    ...(outlives(callbackDays, eventDays)
      ? ['TIBA_CALLBACK_DAYS must be at most TIBA_EVENT_DAYS: a callback is about an event']
      : []),
    ...(outlives(eventDays, transactionDays)
      ? ['TIBA_EVENT_DAYS must be at most TIBA_TRANSACTION_DAYS: an event is about a transaction']
      : []),
  ];
}
