import type { HashAccount } from '../../../account-checks/account-hash.ts';
import { isAccountStatus } from '../../../domain/account.ts';
import { type BankDirectory, parseAccountNumber } from '../../../domain/bank.ts';
import { publishedReason, readFailureReason } from '../../../domain/failure-reason.ts';
import type { InquirySummary } from '../../../domain/support-summary.ts';
import type { Transaction } from '../../../domain/transaction.ts';
import type { BilingualText } from '../../../lib/bilingual-text.ts';
import { type AccountCheck, findAccountChecks } from '../../../postgres/account-checks.ts';
import { type Attempt, listAttempts } from '../../../postgres/callback-history.ts';
import type { Database } from '../../../postgres/database.ts';
import { listActionsAbout, type OperatorAction } from '../../../postgres/operator-actions.ts';
import { listStatusUpdates, type StatusUpdateRecord } from '../../../postgres/status-updates.ts';
import {
  type EventDelivery,
  findInquirySchedule,
  type InquirySchedule,
  listEventDeliveries,
  listTransactionEvents,
  type TransactionEvent,
} from '../../../postgres/transaction-timeline.ts';

export const TIMELINE_KINDS = [
  'created',
  'status_update',
  'bank_inquiry',
  'event',
  'callback_delivery',
  'callback_attempt',
  'account_check',
  'operator_action',
] as const;
export type TimelineKind = (typeof TIMELINE_KINDS)[number];

export interface TimelineEntry {
  /** ISO 8601 UTC. */
  readonly at: string;
  readonly kind: TimelineKind;
  /** For people. */
  readonly text: BilingualText;
  /** What the sentence was made from; null where there is no value. */
  readonly facts: Readonly<Record<string, string | null>>;
}

export interface TimelineDependencies {
  readonly database: Database;
  readonly banks: BankDirectory;
  readonly hashAccount: HashAccount;
}

export interface Timeline {
  readonly inquiries: InquirySummary;
  /** In the order of time. */
  readonly entries: readonly TimelineEntry[];
}

/** A transaction that a bank is asked about for weeks has hundreds of updates: the latest are shown. */
const UPDATES_MAX = 200;
const EVENTS_MAX = 20;
const ATTEMPTS_MAX = 20;
const CHECKS_MAX = 20;
const ACTIONS_MAX = 50;
const CHECKED_BEFORE_MS = 30 * 24 * 60 * 60 * 1_000;

export interface TimelineOptions {
  /** Whether the reader may know more of an operator than the name: the ID, the address and the record's number. */
  readonly showsActors: boolean;
}

/** Everything that is stored about a transaction, with account numbers and names left out. */
export async function readTimeline(
  dependencies: TimelineDependencies,
  transaction: Transaction,
  { showsActors }: TimelineOptions,
): Promise<Timeline> {
  const { database } = dependencies;
  const { clientId } = transaction;
  const [stored, schedule, events, checks] = await Promise.all([
    listStatusUpdates(database, transaction, UPDATES_MAX),
    findInquirySchedule(database, transaction),
    listTransactionEvents(database, transaction, EVENTS_MAX),
    findChecksBefore(dependencies, transaction),
  ]);
  const updates = stored.map((update) => readUpdate(transaction, update));
  const deliveries = await listEventDeliveries(
    database,
    clientId,
    events.map(({ sequence }) => sequence),
  );
  const subjectIds = [transaction.transactionId, ...deliveries.map(deliveryIdOf)];
  const [actions, ...attempts] = await Promise.all([
    listActionsAbout(database, { clientId, subjectIds }, ACTIONS_MAX),
    ...deliveries.map(async (delivery) => {
      const listed = await listAttempts(database, { clientId, ...delivery }, ATTEMPTS_MAX);
      return listed.map((attempt) => attemptEntry(delivery, attempt));
    }),
  ]);
  const entries = [
    createdEntry(transaction),
    ...checks.map(checkEntry),
    ...updates.map(updateEntry),
    ...(schedule === null ? [] : scheduleEntries(schedule)),
    ...events.map(eventEntry),
    ...deliveries.flatMap((delivery) => deliveryEntries(delivery, events)),
    ...attempts.flat(),
    ...actions.map((action) => actionEntry(action, showsActors)),
  ];
  return {
    inquiries: inquirySummary(updates, schedule),
    entries: entries.toSorted((one, other) => (one.at < other.at ? -1 : Number(one.at > other.at))),
  };
}

/** A status update without the names and account numbers of its message. */
interface RecordedUpdate {
  readonly at: string;
  readonly source: string;
  readonly outcome: string;
  readonly reason: string | null;
  readonly status: string | null;
  readonly failureReason: string | null;
  /** The bank's own response code. */
  readonly railCode: string | null;
}

/** The message is removed after its retention time: what is left is the outcome, and when it must have been. */
function readUpdate({ createdAt, processedAt }: Transaction, update: StatusUpdateRecord): RecordedUpdate {
  const { receivedAt, source, outcome, reason, raw } = update;
  const message = raw === null ? {} : (JSON.parse(raw) as Record<string, unknown>);
  const textAt = (name: string): string | null => {
    const value = message[name];
    return typeof value === 'string' ? value : null;
  };
  return {
    at: receivedAt?.toISOString() ?? (outcome === 'inserted' ? createdAt : (processedAt ?? createdAt)),
    source: source ?? 'a removed message',
    outcome,
    reason,
    status: textAt('status'),
    failureReason: textAt('failure_reason'),
    railCode: textAt('rail_code'),
  };
}

const RAIL = 'rail:';

function inquirySummary(updates: readonly RecordedUpdate[], schedule: InquirySchedule | null): InquirySummary {
  const answers = updates.filter(({ source }) => source.startsWith(RAIL));
  const lastAnswerAt = answers.at(-1)?.at ?? null;
  const isUnknown = schedule !== null && schedule.unknownSince !== null;
  return {
    lastAskedAt: schedule?.lastInquiredAt ?? lastAnswerAt,
    lastAnswer: isUnknown ? 'unknown' : answers.length > 0 ? 'processing' : null,
    inReview: schedule !== null && schedule.reviewSince !== null,
  };
}

async function findChecksBefore(
  { database, banks, hashAccount }: TimelineDependencies,
  { clientId, bankCode, accountNumber, createdAt }: Transaction,
): Promise<AccountCheck[]> {
  const bank = banks.find(bankCode);
  const parsed = bank === null ? null : parseAccountNumber(bank, accountNumber);
  if (bank === null || parsed === null) return [];
  return findAccountChecks(database, {
    clientId,
    accountHash: hashAccount(bank.bic, parsed.reveal()),
    from: new Date(Date.parse(createdAt) - CHECKED_BEFORE_MS).toISOString(),
    to: createdAt,
    limit: CHECKS_MAX,
  });
}

const createdEntry = ({
  createdAt,
  clientId,
  referenceId,
  bankName,
  rail,
  railReference,
}: Transaction): TimelineEntry => ({
  at: createdAt,
  kind: 'created',
  text: {
    en:
      `${clientId} ordered the disbursement to ${bankName}` + (rail === null ? '' : `, which the rail ${rail} carries`),
    id: `${clientId} memesan disbursement ke ${bankName}` + (rail === null ? '' : `, lewat rail ${rail}`),
  },
  facts: { client_id: clientId, reference_id: referenceId, rail, rail_reference: railReference },
});

const OUTCOMES: Readonly<Record<string, BilingualText>> = {
  inserted: { en: 'it was stored', id: 'disimpan' },
  advanced: { en: 'the status changed', id: 'status berubah' },
  reversed: { en: 'the reversal was stored', id: 'pengembalian disimpan' },
  overdue: { en: 'the transaction is overdue from then on', id: 'transaksi terlambat sejak saat itu' },
  unchanged: { en: 'nothing changed', id: 'tidak ada yang berubah' },
  conflict: {
    en: 'it contradicts what is known and was not applied',
    id: 'bertentangan dengan yang diketahui dan tidak diterapkan',
  },
};

function updateEntry(update: RecordedUpdate): TimelineEntry {
  const { at, source, outcome, reason, status, failureReason, railCode } = update;
  const result = OUTCOMES[outcome] ?? { en: outcome, id: outcome };
  const facts = {
    source,
    outcome,
    reason,
    status,
    // The published reason: a core writes what it likes into its text, also names and account numbers.
    failure_reason: failureReason === null ? null : publishedReason(readFailureReason(failureReason)),
  };
  if (source.startsWith(RAIL)) {
    const rail = source.slice(RAIL.length);
    const [code, kode] = railCode === null ? ['', ''] : [` (code ${railCode})`, ` (kode ${railCode})`];
    const text = {
      en: `The bank, asked over ${rail}, answered ${status ?? 'without a status'}${code}: ${result.en}`,
      id: `Bank, ditanya lewat ${rail}, menjawab ${status ?? 'tanpa status'}${kode}: ${result.id}`,
    };
    return { at, kind: 'bank_inquiry', text, facts: { ...facts, rail_code: railCode } };
  }
  const text =
    source === 'clock'
      ? { en: 'It takes longer than its bank is expected to', id: 'Lebih lama dari perkiraan untuk bank ini' }
      : {
          en: `${source} reported ${status}: ${result.en}`,
          id: `${source} melaporkan ${status}: ${result.id}`,
        };
  return { at, kind: 'status_update', text, facts };
}

function scheduleEntries(schedule: InquirySchedule): TimelineEntry[] {
  const { rail, nextAt, lastInquiredAt, unknownSince, reviewSince } = schedule;
  const entryAt = (at: string | null, text: BilingualText): TimelineEntry[] =>
    at === null ? [] : [{ at, kind: 'bank_inquiry', text, facts: { rail, next_inquiry_at: nextAt } }];
  return [
    ...entryAt(unknownSince, {
      en: 'The bank answered for the first time that it does not know the transfer',
      id: 'Bank untuk pertama kali menjawab bahwa transfer ini tidak dikenal',
    }),
    ...entryAt(reviewSince, {
      en: 'The transfer was set aside for review: its bank does not know it',
      id: 'Transfer disisihkan untuk ditinjau: tidak dikenal oleh bank',
    }),
    ...entryAt(lastInquiredAt, {
      en: `The bank was asked last; the next inquiry is due at ${nextAt}`,
      id: `Bank terakhir ditanya; pertanyaan berikutnya pada ${nextAt}`,
    }),
  ];
}

const eventEntry = ({ kind, occurredAt, sequence, version }: TransactionEvent): TimelineEntry => ({
  at: occurredAt,
  kind: 'event',
  text: { en: `The event ${kind} was recorded for the client`, id: `Peristiwa ${kind} dicatat untuk klien` },
  facts: { type: kind, sequence: String(sequence), version: String(version) },
});

const deliveryIdOf = ({ endpointId, sequence }: EventDelivery): string => `${endpointId}-${sequence}`;

/** How a delivery stands: when it ended, or when the next attempt is due. */
function deliveryEntries(delivery: EventDelivery, events: readonly TransactionEvent[]): TimelineEntry[] {
  const { origin, state, attempts, nextAttemptAt, endedAt } = delivery;
  const event = events.find(({ sequence }) => sequence === delivery.sequence);
  const isDelivered = state === 'delivered';
  const text =
    state === 'pending'
      ? {
          en: `The callback to ${origin} is pending after ${attempts} attempts: the next one is due at this time`,
          id: `Callback ke ${origin} menunggu setelah ${attempts} percobaan: percobaan berikutnya pada waktu ini`,
        }
      : {
          en: `The callback to ${origin} was ${isDelivered ? 'delivered' : 'given up'} after ${attempts} attempts`,
          id: `Callback ke ${origin} ${isDelivered ? 'terkirim' : 'dihentikan'} setelah ${attempts} percobaan`,
        };
  const facts = { delivery_id: deliveryIdOf(delivery), type: event?.kind ?? null, state, attempts: String(attempts) };
  const at = endedAt ?? nextAttemptAt ?? event?.occurredAt;
  return at === undefined ? [] : [{ at, kind: 'callback_delivery', text, facts }];
}

function attemptEntry(delivery: EventDelivery, attempt: Attempt): TimelineEntry {
  const { startedAt: at, durationMs, httpStatus, error } = attempt;
  const result =
    httpStatus === null
      ? {
          en: `failed after ${durationMs} ms: ${error ?? 'no response'}`,
          id: `gagal setelah ${durationMs} ms: ${error ?? 'tanpa jawaban'}`,
        }
      : {
          en: `was answered ${httpStatus} after ${durationMs} ms`,
          id: `dijawab ${httpStatus} setelah ${durationMs} ms`,
        };
  return {
    at,
    kind: 'callback_attempt',
    text: {
      en: `Attempt ${attempt.attempt} to ${delivery.origin} ${result.en}`,
      id: `Percobaan ${attempt.attempt} ke ${delivery.origin} ${result.id}`,
    },
    facts: {
      delivery_id: deliveryIdOf(delivery),
      attempt: String(attempt.attempt),
      http_status: httpStatus === null ? null : String(httpStatus),
      error,
      duration_ms: String(durationMs),
    },
  };
}

function checkEntry({ checkedAt, outcome, rail, requestId, clientId }: AccountCheck): TimelineEntry {
  const result = isAccountStatus(outcome)
    ? { en: `it was ${outcome}`, id: `hasilnya ${outcome}` }
    : { en: `there was no verdict (${outcome})`, id: `tidak ada hasil (${outcome})` };
  return {
    at: checkedAt,
    kind: 'account_check',
    text: {
      en: `${clientId} had checked the account: ${result.en}`,
      id: `${clientId} sebelumnya mengecek rekening: ${result.id}`,
    },
    facts: { outcome, rail, request_id: requestId },
  };
}

const ACTIONS: Readonly<Record<string, BilingualText>> = {
  'transaction unmask': { en: 'looked at the account number and the name', id: 'melihat nomor dan nama rekening' },
  'transaction inquire': { en: 'had the bank asked', id: 'meminta bank ditanya' },
  'review resolve': { en: 'ended the review', id: 'mengakhiri peninjauan' },
  'delivery resend': { en: 'had a callback sent again', id: 'meminta callback dikirim ulang' },
};

/** Without the reason: operators write names and account numbers of customers into it. */
function actionEntry(done: OperatorAction, showsActors: boolean): TimelineEntry {
  const who = done.actorName ?? done.actor;
  const what = ACTIONS[done.action] ?? { en: `did: ${done.action}`, id: `melakukan: ${done.action}` };
  return {
    at: done.happenedAt,
    kind: 'operator_action',
    text: { en: `The operator ${who} ${what.en}`, id: `Operator ${who} ${what.id}` },
    facts: {
      ...(showsActors ? { actor: done.actor, origin: done.origin } : {}),
      action: done.action,
      subject_id: done.subjectId,
      ...(showsActors ? { sequence: String(done.sequence) } : {}),
    },
  };
}
