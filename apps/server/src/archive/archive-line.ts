import { FEED_FIELD_NAMES, type Transaction } from '../domain/transaction.ts';
import { isJsonObject, type JsonObject } from '../lib/exact-json.ts';
import type { ArchiveFileKey } from '../postgres/archive-files.ts';
import type { Attempt } from '../postgres/callback-history.ts';
import type { StatusUpdateRecord } from '../postgres/status-updates.ts';
import type { HistoryDelivery, HistoryEvent, TransactionHistory } from '../postgres/transaction-histories.ts';
import { ArchiveFileError, type NumberedLine } from './archive-directory.ts';

/**
 * A line of an archive file: one transaction with its history, as JSON (docs/operating.md, "The archive"). Lines are
 * read for decades, so a field is never renamed; a new form gets another number.
 */
const FORM = 1;

const FIELD_NAMES = {
  ...FEED_FIELD_NAMES,
  version: 'version',
  expectedBy: 'expected_by',
  overdueSince: 'overdue_since',
} as const satisfies Record<keyof Transaction, string>;

export function toArchiveLine({ transaction, statusUpdates, events, deliveries }: TransactionHistory): string {
  const fields = Object.entries(FIELD_NAMES).map(([field, name]) => [name, transaction[field as keyof Transaction]]);
  return JSON.stringify({
    form: FORM,
    transaction: Object.fromEntries(fields),
    status_updates: statusUpdates.map(({ statusUpdateId, receivedAt, ...update }) => ({
      status_update_id: statusUpdateId,
      received_at: receivedAt?.toISOString() ?? null,
      ...update,
    })),
    events: events.map(({ occurredAt, ...event }) => ({ ...event, occurred_at: occurredAt })),
    deliveries: deliveries.map(({ endpointId, sequence, state, endedAt, attempts }) => ({
      endpoint_id: endpointId,
      sequence,
      state,
      ended_at: endedAt,
      attempts: attempts.map(({ attempt, startedAt, durationMs, httpStatus, answer, error }) => ({
        attempt,
        started_at: startedAt,
        duration_ms: durationMs,
        http_status: httpStatus,
        answer,
        error,
      })),
    })),
  });
}

/** @throws Error when the line is not one of this form; nothing in it is from the line, which holds names */
export function parseArchiveLine(file: ArchiveFileKey, line: NumberedLine): TransactionHistory {
  const value = parseJson(file, line);
  if (!isJsonObject(value) || value['form'] !== FORM || !isJsonObject(value['transaction'])) {
    throw new Error('a line of the archive has an unknown form');
  }
  const stored = value['transaction'];
  const fields = Object.entries(FIELD_NAMES).map(([field, name]) => [field, stored[name] ?? null]);
  return {
    transaction: Object.fromEntries(fields) as Transaction,
    statusUpdates: listOf(value, 'status_updates').map(toStatusUpdate),
    events: listOf(value, 'events').map(toEvent),
    deliveries: listOf(value, 'deliveries').map(toDelivery),
  };
}

/** Lines are parsed before the checksum of the file is known. What the parser says quotes the text. */
function parseJson(file: ArchiveFileKey, { text, number }: NumberedLine): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ArchiveFileError(file, new Error(`line ${number} is not JSON`));
  }
}

const listOf = (value: JsonObject, name: string): JsonObject[] => {
  const list = value[name];
  if (!Array.isArray(list)) throw new Error(`a line of the archive has no ${name}`);
  return list as JsonObject[];
};

const toStatusUpdate = (fields: JsonObject): StatusUpdateRecord => ({
  statusUpdateId: fields['status_update_id'] as string,
  outcome: fields['outcome'] as StatusUpdateRecord['outcome'],
  reason: fields['reason'] as string | null,
  source: fields['source'] as string | null,
  receivedAt: typeof fields['received_at'] === 'string' ? new Date(fields['received_at']) : null,
  raw: fields['raw'] as string | null,
});

const toEvent = (fields: JsonObject): HistoryEvent => ({
  sequence: fields['sequence'] as number,
  version: fields['version'] as number,
  kind: fields['kind'] as HistoryEvent['kind'],
  occurredAt: fields['occurred_at'] as string,
  data: fields['data'] as string | null,
});

const toDelivery = (fields: JsonObject): HistoryDelivery => ({
  endpointId: fields['endpoint_id'] as string,
  sequence: fields['sequence'] as number,
  state: fields['state'] as HistoryDelivery['state'],
  endedAt: fields['ended_at'] as string | null,
  attempts: listOf(fields, 'attempts').map(toAttempt),
});

const toAttempt = (fields: JsonObject): Attempt => ({
  attempt: fields['attempt'] as number,
  startedAt: fields['started_at'] as string,
  durationMs: fields['duration_ms'] as number,
  httpStatus: fields['http_status'] as number | null,
  answer: fields['answer'] as string | null,
  error: fields['error'] as string | null,
});
