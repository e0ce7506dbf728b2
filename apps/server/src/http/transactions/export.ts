import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Language } from '../../lib/bilingual-text.ts';
import { csvRow } from '../../lib/csv.ts';
import { numberText, parseExactJson } from '../../lib/exact-json.ts';
import { type Database, DatabaseUnavailable, retryWhileUnavailable } from '../../postgres/database.ts';
import {
  type ListPosition,
  listTransactions,
  type TransactionFilter,
  type TransactionPage,
} from '../../postgres/transaction-list.ts';
import type { Reauthorize } from '../authorize.ts';
import { renderedIn } from '../check-status/transaction-answer.ts';
import { LANGUAGE_HEADERS } from '../envelope.ts';
import { tooManyRequests, unavailable } from '../errors.ts';
import { languageOf } from '../language.ts';
import { createOpenWaits, type OpenWaits } from '../open-waits.ts';

export const EXPORT_TYPES = ['application/x-ndjson', 'text/csv'] as const;

/** Transactions in one query: what an export holds in memory. The event loop gets a turn between two of them. */
const BATCH_MAX = 250;
/**
 * Exports of all clients at the same time, in one process. Each holds a connection while it reads a page; the others
 * of the pool stay free for the feed, audit records and external IDs (docs/decisions/0009).
 */
const EXPORTS_OF_PROCESS_MAX = 2;
/** Exports of one client at the same time: fewer than those of the process, so that no client keeps the others out. */
const EXPORTS_OF_CLIENT_MAX = 1;
const EXPORTS_RETRY_AFTER_MS = 60_000;
const EXPORT_MAX_MS = 10 * 60_000;
/** How long an export waits for PostgreSQL, for example during a failover. */
const UNAVAILABLE_MAX_MS = 20_000;

const ALL_CLIENTS = 'all clients';
const OWN_EXPORT = {
  en: 'An export of yours is running: wait until it has ended, or read page by page as JSON',
  id: 'Ekspor Anda sedang berjalan: tunggu sampai selesai, atau baca halaman demi halaman sebagai JSON',
};
const EXPORTS_OF_OTHERS = {
  en: 'exports of other clients are running. Repeat the request after Retry-After, or read page by page as JSON',
  id:
    'ekspor klien lain sedang berjalan. Ulangi permintaan setelah Retry-After, atau baca halaman demi halaman ' +
    'sebagai JSON',
};

export interface TransactionExport {
  readonly clientId: string;
  readonly filter: TransactionFilter;
  readonly after: ListPosition | null;
  readonly type: (typeof EXPORT_TYPES)[number];
}

interface ExportDependencies {
  readonly database: Database;
  readonly reauthorize: Reauthorize;
  /** Counts the exports of each client. */
  readonly openExports: OpenWaits;
}

/**
 * Returns a function that answers with all transactions that match, read page by page as the client takes them. An
 * export that cannot be completed ends with a broken connection, never like a complete one.
 */
export function createTransactionExports({ database, reauthorize, openExports }: ExportDependencies) {
  const openExportsOfProcess = createOpenWaits();

  return async (request: FastifyRequest, reply: FastifyReply, exported: TransactionExport): Promise<FastifyReply> => {
    const { clientId, filter, after, type } = exported;
    request.route += ' (streaming)';
    if (!(await openExports.admit(clientId, EXPORTS_OF_CLIENT_MAX, reply))) {
      throw tooManyRequests(EXPORTS_RETRY_AFTER_MS, OWN_EXPORT);
    }
    if (openExportsOfProcess.admit(ALL_CLIENTS, EXPORTS_OF_PROCESS_MAX, reply) === false) {
      throw unavailable(EXPORTS_OF_OTHERS, EXPORTS_RETRY_AFTER_MS);
    }
    const readPage = (from: ListPosition | null): Promise<TransactionPage> =>
      listTransactions(database, clientId, filter, { after: from, limit: BATCH_MAX });
    // Read before the answer begins: while PostgreSQL is unavailable, the client gets an error in the envelope.
    const first = await readPage(after);
    const endMs = performance.now() + EXPORT_MAX_MS;
    const language = languageOf(request);
    const source: ExportSource = {
      first,
      readPage: (from) => readWhileUnavailable(() => readPage(from)),
      async mayContinue() {
        if (reply.raw.destroyed || performance.now() > endMs) return false;
        const error = await reauthorize(request);
        return error === null || error.code === 'SERVICE_UNAVAILABLE';
      },
      abort: () => reply.raw.destroy(),
      language,
    };
    return reply
      .headers(LANGUAGE_HEADERS[language])
      .headers({ 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
      .send(Readable.from(type === 'text/csv' ? csvOf(source) : ndjsonOf(source), { objectMode: false }));
  };
}

/** Repeats `read` while PostgreSQL is unavailable. Null when that took too long. */
async function readWhileUnavailable<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error;
    return retryWhileUnavailable(read, { signal: AbortSignal.timeout(UNAVAILABLE_MAX_MS) });
  }
}

interface ExportSource {
  readonly first: TransactionPage;
  /** Null when PostgreSQL was unavailable for too long. */
  readonly readPage: (from: ListPosition) => Promise<TransactionPage | null>;
  readonly mayContinue: () => Promise<boolean>;
  /** Closes the connection, so that the client sees an incomplete response. */
  readonly abort: () => void;
  readonly language: Language;
}

async function* pagesOf({
  first,
  readPage,
  mayContinue,
  abort,
  language,
}: ExportSource): AsyncGenerator<readonly string[]> {
  let page: TransactionPage | null = first;
  for (;;) {
    if (page.transactions.length > 0) yield page.transactions.map((rendered) => renderedIn(language, rendered));
    if (page.next === null) return;
    await nextTurn();
    page = (await mayContinue()) ? await readPage(page.next) : null;
    if (page === null) {
      abort();
      return;
    }
  }
}

async function* ndjsonOf(source: ExportSource): AsyncGenerator<string> {
  for await (const page of pagesOf(source)) yield `${page.join('\n')}\n`;
}

/** The fields of docs/contract.md 2.2, in that order. */
const CSV_COLUMNS = [
  'transaction_id',
  'reference_id',
  'status',
  'amount',
  'fee',
  'total_amount',
  'bank_code',
  'bank_name',
  'account_number',
  'account_name',
  'description',
  'created_at',
  'processed_at',
  'failure_reason',
] as const;

async function* csvOf(source: ExportSource): AsyncGenerator<string> {
  yield csvRow(CSV_COLUMNS);
  for await (const page of pagesOf(source)) yield page.map(csvLine).join('');
}

function csvLine(rendered: string): string {
  const transaction = parseExactJson(rendered) as Readonly<Record<(typeof CSV_COLUMNS)[number], unknown>>;
  return csvRow(
    CSV_COLUMNS.map((column) => {
      const value = transaction[column];
      return typeof value === 'string' ? value : (numberText(value) ?? null);
    }),
  );
}
