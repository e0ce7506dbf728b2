import type { BenchContext } from '../bench-context.ts';
import { type BenchDatabase, makeDatabase } from '../database/databases.ts';
import { withClient } from './postgres.ts';

/** A database with a past: PostgreSQL plans otherwise for tables that are all but empty. */
export async function makeLivedInDatabase(stage: BenchContext, name: string, rows: number): Promise<BenchDatabase> {
  const database = await makeDatabase(stage, name, rows);
  await withClient(database.connectionString, async (client) => {
    // Long overdue as they are, their client would be told of each of them while something else is measured.
    await client.query(`update tiba.transactions set expected_by = now() + interval '1 day' where status = 'PROCESS'`);
    await client.query('vacuum (analyze) tiba.transactions');
  });
  return database;
}
