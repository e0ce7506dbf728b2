import type pg from 'pg';

/**
 * Vacuums and analyzes each table of the service, as autovacuum does in production: partitions, and never their parent,
 * which would give the planner statistics that it does not have there.
 */
export async function vacuumAsInProduction(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ tables: string | null }>(
    `select string_agg(c.oid::regclass::text, ', ' order by c.relname) as tables
       from pg_class c where c.relnamespace = 'tiba'::regnamespace and c.relkind = 'r'`,
  );
  const tables = rows[0]?.tables;
  if (tables === null || tables === undefined) throw new Error('the database has no tables of Tiba');
  await client.query(`vacuum (analyze) ${tables}`);
}
