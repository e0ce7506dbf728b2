import type { Database } from './database.ts';

export type InstallationEnvironment = 'sandbox' | 'production';

/** What the database was marked as; null when nobody has used it yet, in which case it may have no table either. */
export async function findInstallation(database: Database): Promise<InstallationEnvironment | null> {
  const [table] = await database.query<{ exists: boolean }>(
    "select to_regclass('tiba.installation') is not null as exists",
  );
  if (table?.exists !== true) return null;
  const rows = await database.query<{ environment: InstallationEnvironment }>(
    'select environment from tiba.installation',
  );
  return rows[0]?.environment ?? null;
}

/** Marks the database at its first use, and tells ever after what it was marked as. */
export async function claimInstallation(
  database: Database,
  environment: InstallationEnvironment,
): Promise<InstallationEnvironment> {
  const rows = await database.query<{ environment: InstallationEnvironment }>(
    `with claimed as (
       insert into tiba.installation (environment) values ($1) on conflict do nothing returning environment)
     select environment from claimed union all select environment from tiba.installation limit 1`,
    [environment],
  );
  return rows[0]?.environment ?? environment;
}
