import type { Database, Query, Row } from '../database.ts';

/**
 * A distributed PostgreSQL (Citus) keeps the rows of a client on one node. It can lock and change rows only in
 * statements that name one client, and name it for each table. One PostgreSQL has no use for that: a condition more may
 * lead its planner to another index. So statements only mark where the condition belongs, and are written once.
 */

/** SQL after a condition: here belongs the condition that `table` has rows of one client. */
export const ofClient = (table: string): string => `/* of the client: ${table} */`;

const MARK = /\/\* of the client: (\w+) \*\//g;

const withClient = (sql: string, clientId: string): string =>
  sql.replaceAll(MARK, (_, table: string) => `and ${table}.client_id = '${clientId.replaceAll("'", "''")}'`);

/** For statements that are about this client only. */
const queryOfClient = (query: Query, clientId: string): Query =>
  Object.assign(
    // Without a name: the text of a prepared statement never changes.
    // oxlint-disable-next-line typescript/no-unnecessary-type-parameters
    <R extends Row>(sql: string, values?: readonly unknown[]) => query<R>(withClient(sql, clientId), values),
    { distributed: query.distributed === true, copy: query.copy },
  );

/** For work that is about this client only. */
export const databaseOfClient = (database: Database, clientId: string): Database =>
  database.distributed
    ? {
        ...database,
        query: (sql, values) => guarded(database, clientId, () => database.query(withClient(sql, clientId), values)),
        transaction: (work, options) =>
          guarded(database, clientId, () =>
            database.transaction((query) => work(queryOfClient(query, clientId)), options),
          ),
      }
    : database;

/** Does `work` about this client, unless its node hangs (hanging-nodes.ts). */
export const guarded = <T>({ hangingNodes }: Database, clientId: string, work: () => Promise<T>): Promise<T> =>
  hangingNodes === undefined ? work() : hangingNodes.guard(clientId, work);

interface OfClient {
  readonly clientId: string;
}

/**
 * Does `work` with all items at once on one PostgreSQL. On a distributed one, with the items of each client: `work`
 * gets a database whose statements are about that client, and some clients are served at the same time. Resolves when
 * all of it has ended, and rejects with the first error: a node that is away fails its own clients only.
 */
export async function byClient<Item extends OfClient>(
  database: Database,
  items: readonly Item[],
  work: (database: Database, items: readonly Item[]) => Promise<void>,
): Promise<void> {
  if (!database.distributed) return work(database, items);
  const waiting = [...Map.groupBy(items, ({ clientId }) => clientId)];
  const errors: unknown[] = [];
  const workNext = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [clientId, own] = next;
      await work(databaseOfClient(database, clientId), own).catch((error: unknown) => errors.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(CLIENTS_AT_ONCE, waiting.length) }, workNext));
  if (errors.length > 0) throw errors[0];
}

/** Each needs a connection. */
const CLIENTS_AT_ONCE = 4;

/**
 * Rows of all clients, by a statement whose tables are marked. While a node of a distributed PostgreSQL is away, those
 * of the clients on the other nodes, without an order over all of them.
 */
export async function queryOverClients<R extends Row>(
  database: Database,
  sql: string,
  values: readonly unknown[] = [],
): Promise<R[]> {
  // A statement over all nodes would wait for one that hangs, and hold its connection until its deadline.
  if (database.hangingNodes?.any() === true) return queryClientByClient(database, sql, values);
  try {
    return await database.query<R>(sql, values);
  } catch (error) {
    if (!database.distributed) throw error;
    return await queryClientByClient(database, sql, values);
  }
}

async function queryClientByClient<R extends Row>(
  database: Database,
  sql: string,
  values: readonly unknown[],
): Promise<R[]> {
  const rows: R[] = [];
  const { answered, errors } = await tryEachClient(database, async (own) => {
    rows.push(...(await own.query<R>(sql, values)));
  });
  if (answered === 0 && errors.length > 0) throw errors[0];
  return rows;
}

/**
 * Deletes with `work` what is old of all clients, at most `limit` records, and returns how many. On a distributed
 * PostgreSQL client by client: it rejects only when there is an error and nothing was deleted, so that a node that is
 * away does not keep the records of clients on the others.
 */
export async function deleteOverClients(
  database: Database,
  limit: number,
  work: (database: Database, limit: number) => Promise<number>,
): Promise<number> {
  let deleted = 0;
  const { errors } = await tryEachClient(database, async (own) => {
    if (deleted < limit) deleted += await work(own, limit - deleted);
  });
  if (deleted === 0 && errors.length > 0) throw errors[0];
  return deleted;
}

/**
 * The earliest of the times that `find` returns: of all clients at once, or client by client, without those of a node
 * that is away.
 */
export async function earliestOverClients(
  database: Database,
  find: (database: Database) => Promise<Date | null>,
): Promise<Date | null> {
  const times: Date[] = [];
  const { answered, errors } = await tryEachClient(database, async (own) => {
    const found = await find(own);
    if (found !== null) times.push(found);
  });
  if (answered === 0 && errors.length > 0) throw errors[0];
  return times.length === 0 ? null : new Date(Math.min(...times.map(Number)));
}

/** Does `work` for each client. What fails for one is done for the others. */
async function tryEachClient(
  database: Database,
  work: (database: Database) => Promise<void>,
): Promise<{ readonly answered: number; readonly errors: readonly unknown[] }> {
  const errors: unknown[] = [];
  let answered = 0;
  for await (const own of eachClient(database)) {
    try {
      await work(own);
      answered += 1;
    } catch (error) {
      errors.push(error);
    }
  }
  return { answered, errors };
}

/** The database itself; of a distributed one, the same for each client, or for the one that is given. */
export async function* eachClient(database: Database, onlyClientId: string | null = null): AsyncGenerator<Database> {
  if (!database.distributed || onlyClientId !== null) {
    yield onlyClientId === null ? database : databaseOfClient(database, onlyClientId);
    return;
  }
  for (const clientId of await listClientIds(database)) yield databaseOfClient(database, clientId);
}

export async function listClientIds(database: Database): Promise<string[]> {
  const rows = await database.query<{ client_id: string }>('select client_id from tiba.clients order by client_id');
  return rows.map(({ client_id: clientId }) => clientId);
}
