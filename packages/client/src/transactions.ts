import { type Call, toCall } from './call.ts';
import type { Clock } from './clock.ts';
import { parseExact } from './decimal.ts';
import { TibaError } from './errors.ts';
import type { Operations, Transaction, TransactionList } from './generated/api.ts';
import { readLines } from './lines.ts';
import { itemsOf } from './pages.ts';
import type { CallOptions, Transport } from './transport.ts';

export type TransactionFilter = Operations['listTransactions']['query'];
/** An export has no pages. */
export type ExportFilter = Omit<TransactionFilter, 'limit'>;

export interface Transactions {
  /** All that match, the newest first, page after page. The options apply to each page. */
  list(filter?: TransactionFilter, options?: CallOptions): AsyncGenerator<Transaction, void, undefined>;
  /** One page. */
  page(filter?: TransactionFilter, options?: CallOptions): Call<TransactionList>;
  /**
   * All that match, in one request. It fails when the connection breaks, so that an incomplete export never looks
   * complete. `timeoutMs` is the time until it begins.
   */
  export(filter?: ExportFilter, options?: CallOptions): AsyncGenerator<Transaction, void, undefined>;
  /** The same as CSV, line by line: the header line first. */
  exportCsv(filter?: ExportFilter, options?: CallOptions): AsyncGenerator<string, void, undefined>;
}

/** While it waits for PostgreSQL, an export may be silent for 20 s (docs/contract.md 4.5). */
const EXPORT_SILENT_MS_MAX = 60_000;

export function createTransactions(transport: Transport, clock: Clock): Transactions {
  const page = (query?: TransactionFilter, options?: CallOptions): Call<TransactionList> =>
    toCall(transport.json({ operation: 'listTransactions', query }, options));

  async function* lines(accept: string, query: ExportFilter = {}, options: CallOptions = {}): AsyncGenerator<string> {
    const plan = { operation: 'listTransactions' as const, query, headers: { accept } };
    // Its time is that until the first byte; the reader's own signal ends it after that.
    const body = await transport.read(plan, options, (response) => Promise.resolve(response.body));
    const { signal = new AbortController().signal } = options;
    try {
      yield* readLines(body ?? new ReadableStream(), { clock, signal, silentMsMax: () => EXPORT_SILENT_MS_MAX });
    } catch (cause) {
      signal.throwIfAborted();
      const message = 'the export broke before its end, so it is incomplete: repeat it, or use `list`';
      throw new TibaError({ error_code: 'CONNECTION_FAILED', operation: plan.operation, message, cause });
    }
  }

  return {
    page,
    list: (filter = {}, options) =>
      itemsOf(
        (cursor) => page({ ...filter, cursor }, options),
        ({ transactions }) => transactions,
        filter.cursor,
      ),
    async *export(filter, options) {
      for await (const line of lines('application/x-ndjson', filter, options)) yield parseExact(line) as Transaction;
    },
    exportCsv: (filter, options) => lines('text/csv', filter, options),
  };
}
