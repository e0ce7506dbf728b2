import type { Database, Query } from '../../apps/server/src/postgres/database.ts';

/** Calls `step` before and after each use of the database, and after each statement of a database transaction. */
export const stepping = (database: Database, step: () => void): Database => ({
  ...database,
  async query(sql: string, values?: readonly unknown[], name?: string) {
    step();
    const rows = await database.query(sql, values, name);
    step();
    return rows as never[];
  },
  async transaction(work, options) {
    step();
    const result = await database.transaction((query) => work(steppingQuery(query, step)), options);
    step();
    return result;
  },
});

function steppingQuery(query: Query, step: () => void): Query {
  const run = async (...args: Parameters<Query>) => {
    const result = await query(...args);
    step();
    return result as never;
  };
  const copy: Query['copy'] = async (sql, rows) => {
    await query.copy(sql, rows);
    step();
  };
  return Object.assign(run, { copy, distributed: query.distributed === true });
}
