import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import type { Log } from '../observability/log.ts';
import { createSocketTracker } from './socket-tracker.ts';

/**
 * Deadlines, each below the next, so that the layer that knows most gives up first: PostgreSQL cancels the statement and
 * nothing is written; failing that (it is frozen) the connection is given up; failing that the HTTP answer is 503.
 * A query that is given up before PostgreSQL cancels it would still be carried out.
 */
const DEADLINES_MS = {
  connectionTimeoutMillis: 1_000,
  statement_timeout: 1_500,
  lock_timeout: 1_500,
  query_timeout: 1_750,
};

/**
 * A connection keeps the plans of prepared statements and of foreign keys. One that was made when the table was small
 * and analyzed reads the whole table, and goes on doing so while the table grows. Everything here is found by its key.
 */
const BY_INDEX_ONLY = '-c enable_seqscan=off';

/** A table row, by column name. */
export type Row = Record<string, unknown>;

// R is the caller's word for what its statement returns.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export type Query = <R extends Row>(
  sql: string,
  values?: readonly unknown[],
) => Promise<{ rows: R[]; rowCount: number | null }>;

export interface Database {
  /** One statement. `name` makes it a prepared one, parsed and planned once per connection. */
  query<R extends Row>(sql: string, values?: readonly unknown[], name?: string): Promise<R[]>;
  /** Everything or nothing. Never wait for the network in `work`: it holds a connection and locks. */
  transaction<T>(work: (query: Query) => Promise<T>, options?: { timeoutMs?: number }): Promise<T>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** What PostgreSQL is reached by, and the deadlines where they shall be others; see `pg.ClientConfig`. */
  readonly connection: pg.ClientConfig;
  readonly connectionsMax: number;
  readonly log: Log;
}

/** PostgreSQL cannot answer now: frozen, restarting, unreachable, out of connections, or failed over. */
export class DatabaseUnavailable extends Error {
  /** True when the connection was lost, so that another connection may answer at once; false when time ran out. */
  readonly lostConnection: boolean;

  constructor(cause: unknown, lostConnection: boolean) {
    super('the database cannot answer now', { cause });
    this.lostConnection = lostConnection;
  }
}

/** Others changed the same rows at the same time: nothing was written, and done again it may well succeed. */
export class DatabaseContended extends DatabaseUnavailable {
  constructor(cause: unknown) {
    super(cause, false);
  }
}

/** A pool of connections that survives PostgreSQL's restarts and fail-overs. */
export function openDatabase({ connection, connectionsMax, log }: DatabaseOptions): Database {
  const sockets = createSocketTracker();
  const queryTimeoutMs = connection.query_timeout ?? DEADLINES_MS.query_timeout;
  let pool = openPool();

  function openPool(): pg.Pool {
    const opened = new pg.Pool({
      ...DEADLINES_MS,
      ...connection,
      max: connectionsMax,
      stream: sockets.stream,
      application_name: 'tiba',
      options: [connection.options ?? '', BY_INDEX_ONLY].join(' '),
      idle_in_transaction_session_timeout: 10_000,
      keepAlive: true,
      allowExitOnIdle: false,
    });
    // Without a listener the loss of an idle connection would end the process.
    opened.on('error', (error) => log.warn({ err: error }, 'an idle database connection was lost'));
    return opened;
  }

  /** After a fail-over the other connections lead to the wrong server too: all of them are opened anew. */
  function unavailable(error: unknown, used: pg.Pool): unknown {
    const code = errorCode(error);
    if (used === pool && code !== undefined && STALE_POOL_CODES.has(code)) {
      pool = openPool();
      used.end().catch((cause: unknown) => log.warn({ err: cause }, 'closing stale database connections failed'));
    }
    return asUnavailable(error);
  }

  return {
    async query<R extends Row>(sql: string, values: readonly unknown[] = [], name?: string) {
      const used = pool;
      try {
        // Copying what is given as an object costs pg more than the rest of a query; text it takes as it is.
        const query = Object.assign(new pg.Query<R>(sql, values as unknown[]), { name });
        // The pool's type knows cursors only. It waits for the result of any query that brings no callback.
        const { rows } = await (used.query(query) as unknown as Promise<pg.QueryResult<R>>);
        return rows;
      } catch (error) {
        throw unavailable(error, used);
      }
    },

    async transaction(work, { timeoutMs = queryTimeoutMs } = {}) {
      const used = pool;
      try {
        const client = await used.connect();
        return await inTransaction(client, work, timeoutMs);
      } catch (error) {
        throw unavailable(error, used);
      }
    },

    close: () => sockets.close(() => pool.end()),
  };
}

async function inTransaction<T>(
  client: pg.PoolClient,
  work: (query: Query) => Promise<T>,
  timeoutMs: number,
): Promise<T> {
  const query: Query = <R extends Row>(text: string, values: readonly unknown[] = []) =>
    // `query_timeout` per query is honoured by pg though its types leave it out.
    client.query<R>({ text, values: values as unknown[], query_timeout: timeoutMs } as pg.QueryConfig);
  // A connection lost between two statements is reported here and by the next statement; unheard it ends the process.
  const ignore = (): void => {};
  client.on('error', ignore);
  try {
    await query('begin');
    const result = await work(query);
    await query('commit');
    client.release();
    return result;
  } catch (error) {
    // Whether a failed commit took effect is unknown. The connection is not to be trusted either: closing it rolls back.
    client.release(true);
    throw error;
  } finally {
    client.off('error', ignore);
  }
}

// Read-only (fail-over), shut down by an administrator, crashed, or not yet up.
const STALE_POOL_CODES = new Set(['25006', '57P01', '57P02', '57P03']);
// SQLSTATE classes that mean "not now": connection, operator intervention, resources, system error.
// 25P03 ends a transaction that stood still too long, which happens when this process itself was suspended.
const UNAVAILABLE_CODE = /^(?:08|57|53|58|25006|25P03)/;
// A serialization failure, or one of two that waited for each other.
const CONTENDED_CODES = new Set(['40001', '40P01']);
const CANCELLED_CODES = new Set(['57014', '55P03']);
const SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  // A Unix socket whose server takes no more connections off the queue.
  'EAGAIN',
  'ENOENT',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
// What pg throws without a code, by its text: it has no other mark.
const TIMED_OUT = /timeout exceeded|Query read timeout|timeout expired|due to connection timeout/i;
const LOST_CONNECTION =
  /Connection terminated|Client has encountered a connection error|not queryable|Cannot use a pool after/i;

function asUnavailable(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = errorCode(error);
  if (code !== undefined && CONTENDED_CODES.has(code)) return new DatabaseContended(error);
  if (code !== undefined && CANCELLED_CODES.has(code)) return new DatabaseUnavailable(error, false);
  if (code !== undefined && (SOCKET_CODES.has(code) || UNAVAILABLE_CODE.test(code)))
    return new DatabaseUnavailable(error, true);
  if (TIMED_OUT.test(error.message)) return new DatabaseUnavailable(error, false);
  if (LOST_CONNECTION.test(error.message)) return new DatabaseUnavailable(error, true);
  return error;
}

function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Between doing it in vain and doing it again. */
const PAUSE_MS = 250;

export interface RetryOptions {
  /** Nobody waits for it any longer. */
  readonly signal: AbortSignal;
  readonly onUnavailable: (error: DatabaseUnavailable) => void;
}

/** Does it again for as long as PostgreSQL cannot answer. Null when `signal` came first. */
export async function retryWhileUnavailable<T>(
  action: () => Promise<T>,
  { signal, onUnavailable }: RetryOptions,
): Promise<T | null> {
  while (!signal.aborted) {
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
      onUnavailable(error);
      await wait(PAUSE_MS, undefined, { signal }).catch(() => {});
    }
  }
  return null;
}
