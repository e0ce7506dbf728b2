import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import type { RunReport } from '../lib/repeat.ts';
import { UnavailableError } from '../lib/unavailable-error.ts';
import type { Log } from '../observability/log.ts';
import { copyRows } from './copy.ts';
import type { PostgresConnection } from './primary-client.ts';
import { createSocketTracker } from './socket-tracker.ts';

/**
 * Deadlines, each shorter than the next, so that the layer that knows most gives up first. First PostgreSQL cancels the
 * statement, and nothing is written. If PostgreSQL is frozen, the connection is closed. The HTTP response is 503 at the
 * latest. If the client gave up before PostgreSQL cancels the statement, PostgreSQL would still execute it.
 */
const DEADLINES_MS = {
  connectionTimeoutMillis: 1_000,
  statement_timeout: 1_500,
  lock_timeout: 1_500,
  query_timeout: 1_750,
};

/**
 * A connection caches the plans of prepared statements and foreign keys. A plan that was made while a table was small
 * and analyzed scans the whole table or a whole index, and continues to do so while the table grows. Every statement
 * here can look rows up by an index.
 */
const LOOK_UPS_ONLY = '-c enable_seqscan=off -c enable_mergejoin=off';

/**
 * Up to PostgreSQL 17, a scan of a whole small table seems so costly without `enable_seqscan` that its statement is
 * compiled (JIT): a heartbeat took a quarter of a second of processor time instead of a millisecond.
 */
const WITHOUT_JIT = '-c jit=off';

/** A table row, by column name. */
export type Row = Record<string, unknown>;

export interface Query {
  // R is the row type that the caller expects from its statement.
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters
  <R extends Row>(
    sql: string,
    values?: readonly unknown[],
    name?: string,
  ): Promise<{ rows: R[]; rowCount: number | null }>;
  /** As in `Database`; absent on one PostgreSQL. */
  readonly distributed?: boolean;
  /** Runs `copy … from stdin` with rows of `copyText`. */
  copy(sql: string, rows: readonly string[]): Promise<void>;
}

export interface Database {
  /** Runs one statement. With a `name` it is a prepared statement: parsed and planned once per connection. */
  query<R extends Row>(sql: string, values?: readonly unknown[], name?: string): Promise<R[]>;
  /**
   * Commits all statements of `work`, or none; statements may have names, too. `work` must not wait for the network: it
   * holds a connection and locks.
   */
  transaction<T>(work: (query: Query) => Promise<T>, options?: { timeoutMs?: number }): Promise<T>;
  /** The connections of the pool, and the queries that wait for one. */
  connections(): { readonly total: number; readonly idle: number; readonly waiting: number };
  close(): Promise<void>;
  /** Whether the rows of clients are distributed over several nodes (distributed/distribution.ts). */
  readonly distributed: boolean;
  /** Of a distributed database that a service uses. */
  readonly hangingNodes?: HangingNodes | undefined;
}

/**
 * A node of a distributed database that hangs accepts statements and answers none. Each holds a connection until its
 * deadline, so a few clients on that node would take all connections from the others. While a node is known to hang,
 * statements about the clients on it fail at once (distributed/hanging-nodes.ts).
 */
export interface HangingNodes {
  /**
   * Does `work`, which is about this client only. While its node is checked for the first time, waits for the result.
   * @throws DatabaseUnavailable at once while the node is known to hang
   */
  guard<T>(clientId: string, work: () => Promise<T>): Promise<T>;
  /** Whether a node hangs, or is being checked: a statement over all clients may only wait for it. */
  any(): boolean;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** How to connect, and deadlines that replace the default ones; see `pg.ClientConfig`. */
  readonly connection: PostgresConnection;
  readonly connectionsMax: number;
  readonly log: Log;
  /** See `Database`. By default false. */
  readonly distributed?: boolean;
}

/** PostgreSQL cannot answer now: frozen, restarting, unreachable, out of connections, failed over, or login refused. */
export class DatabaseUnavailable extends UnavailableError {
  /** True when the connection was lost: another connection may work at once. False when a deadline passed. */
  readonly lostConnection: boolean;

  constructor(cause: unknown, lostConnection: boolean) {
    super('the database cannot answer now', { cause });
    this.lostConnection = lostConnection;
  }
}

/** Another database transaction changed the same rows at the same time. Nothing was written; a retry may succeed. */
export class DatabaseContended extends DatabaseUnavailable {
  constructor(cause: unknown) {
    super(cause, false);
  }
}

/** A pool of connections that survives PostgreSQL's restarts and fail-overs. */
export function openDatabase({ connection, connectionsMax, log, distributed = false }: DatabaseOptions): Database {
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
      options: [connection.options ?? '', LOOK_UPS_ONLY, WITHOUT_JIT].join(' '),
      idle_in_transaction_session_timeout: 10_000,
      keepAlive: true,
      allowExitOnIdle: false,
    });
    surviveLostConnections(opened, (error) =>
      log.warn({ err: asUnavailable(error) }, 'idle database connection lost; the pool opens a new one'),
    );
    return opened;
  }

  /** After a failover the other connections lead to the wrong server too, so the whole pool is replaced. */
  function unavailable(error: unknown, used: pg.Pool): unknown {
    const code = errorCode(error);
    if (used === pool && code !== undefined && STALE_POOL_CODES.has(code)) {
      pool = openPool();
      used
        .end()
        .catch((cause: unknown) =>
          log.warn({ err: cause }, 'closing stale database connections after a failover failed'),
        );
    }
    return asUnavailable(error);
  }

  return {
    async query<R extends Row>(sql: string, values: readonly unknown[] = [], name?: string) {
      const used = pool;
      try {
        // pg copies a query that is passed as an object, which costs more than the rest of the query. It does not copy
        // a `pg.Query`.
        const query = Object.assign(new pg.Query<R>(sql, values as unknown[]), { name });
        // The pool's type allows only cursors here. At run time it waits for the result of any query without a
        // callback.
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
        return await inTransaction(client, distributed ? (query) => work(asDistributed(query)) : work, timeoutMs);
      } catch (error) {
        throw unavailable(error, used);
      }
    },

    connections: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => sockets.close(() => pool.end()),
    distributed,
  };
}

/**
 * Keeps a lost connection of a pool from ending the process: one that is idle, one that is being handed out, or one
 * between two statements. Without a listener, the event would be an uncaught exception. The next statement reports it.
 */
function surviveLostConnections(pool: pg.Pool, onIdleLost: (error: Error) => void): void {
  pool.on('error', onIdleLost);
  pool.on('connect', (client) => client.on('error', () => {}));
}

const asDistributed = (query: Query): Query => Object.assign(query, { distributed: true });

async function inTransaction<T>(
  client: pg.PoolClient,
  work: (query: Query) => Promise<T>,
  timeoutMs: number,
): Promise<T> {
  const run = <R extends Row>(sql: string, values: readonly unknown[] = [], name?: string) =>
    runStatement<R>(client, { sql, values, name, timeoutMs });
  const query: Query = Object.assign(run, {
    copy: (sql: string, rows: readonly string[]) => copyRows(client, sql, rows, timeoutMs),
  });
  try {
    // The statements rely on it (docs/decisions/0050), and a server may have another default.
    await query('begin isolation level read committed');
    const result = await work(query);
    await query('commit');
    client.release();
    return result;
  } catch (error) {
    // A failed commit may or may not have taken effect. The connection is not reliable either: closing it rolls back.
    const isReliable = error instanceof DatabaseContended && (await rollBack(query));
    client.release(!isReliable);
    throw error;
  }
}

interface Statement {
  readonly sql: string;
  readonly values: readonly unknown[];
  readonly name: string | undefined;
  readonly timeoutMs: number;
}

/** As `client.query` with an object, without pg's copy of it. */
function runStatement<R extends Row>(
  client: pg.PoolClient,
  { sql, values, name, timeoutMs }: Statement,
): Promise<pg.QueryResult<R>> {
  const { promise, resolve, reject } = Promise.withResolvers<pg.QueryResult<R>>();
  const query = new pg.Query<R>(sql, values, (error, result) => (error ? reject(error) : resolve(result)));
  // pg supports `query_timeout` per query, although its types do not declare it.
  client.query(Object.assign(query, { name, query_timeout: timeoutMs }));
  return promise.catch((error: Error) => {
    // The stack of pg's error leads to the socket, and not to who has run the statement.
    Error.captureStackTrace(error);
    throw error;
  });
}

/** After `work` has found its decision out of date: nothing is wrong with the connection. Returns whether it worked. */
const rollBack = (query: Query): Promise<boolean> =>
  query('rollback').then(
    () => true,
    () => false,
  );

// Read-only after a failover, shut down by an administrator, crashed, or still starting.
const STALE_POOL_CODES = new Set(['25006', '57P01', '57P02', '57P03']);
// SQLSTATE classes of a temporary failure: connection, operator intervention, resources, system error.
// 25P03 ends a transaction that was idle for too long, which happens when this process itself was suspended, and 25P04
// one that took longer than an administrator allows (`transaction_timeout`).
// 55000 refuses connections while an administrator has closed the database (`allow_connections false`).
const UNAVAILABLE_CODE = /^(?:08|57|53|58|25006|25P03|25P04|55000)/;
// A serialization failure, or a deadlock.
const CONTENDED_CODES = new Set(['40001', '40P01']);
const CANCELLED_CODES = new Set(['57014', '55P03']);
// PostgreSQL refuses the login, or has no such database: a password was changed, for example. Connections that are open
// already go on, and another new one is refused too.
const REFUSED_CODE = /^(?:28|3D000)/;
const SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  // A Unix socket whose server accepts no more connections.
  'EAGAIN',
  'ENOENT',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  // This process, or the machine, has as many files open as it may.
  'EMFILE',
  'ENFILE',
]);
// Citus lost a node while it changed rows there, or committed. Its code, XX000, is that of any internal error.
const LOST_NODE =
  /^(?:failure on connection marked as essential|server closed the connection|could not (?:receive|send) data)/;
// Errors of pg without a code: only their text tells them apart.
const TIMED_OUT = /timeout exceeded|Query read timeout|timeout expired|due to connection timeout/i;
const LOST_CONNECTION =
  /Connection terminated|Client has encountered a connection error|not queryable|Cannot use a pool after/i;

function asUnavailable(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = errorCode(error);
  if (code !== undefined && CONTENDED_CODES.has(code)) return new DatabaseContended(error);
  if (code !== undefined && (CANCELLED_CODES.has(code) || REFUSED_CODE.test(code)))
    return new DatabaseUnavailable(error, false);
  if (code !== undefined && (SOCKET_CODES.has(code) || UNAVAILABLE_CODE.test(code)))
    return new DatabaseUnavailable(error, true);
  if (TIMED_OUT.test(error.message)) return new DatabaseUnavailable(error, false);
  if (LOST_CONNECTION.test(error.message) || LOST_NODE.test(error.message)) return new DatabaseUnavailable(error, true);
  return error;
}

function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** The time on PostgreSQL's clock, which all processes share. */
export async function readDatabaseTime(database: Database): Promise<Date> {
  const [row] = await database.query<{ now: Date }>('select now() as now');
  if (row === undefined) throw new Error('PostgreSQL returned no time');
  return row.now;
}

/** Between two attempts. */
const RETRY_DELAY_MS = 250;

export interface RetryOptions {
  /** Ends the retries. */
  readonly signal: AbortSignal;
  readonly report?: RunReport;
}

/** Repeats `action` until PostgreSQL is available again. Resolves to null when `signal` aborts first. */
export async function retryWhileUnavailable<T>(
  action: () => Promise<T>,
  { signal, report }: RetryOptions,
): Promise<T | null> {
  while (!signal.aborted) {
    try {
      const result = await action();
      report?.succeeded();
      return result;
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
      report?.failed(error);
      await wait(RETRY_DELAY_MS, undefined, { signal }).catch(() => {});
    }
  }
  return null;
}
