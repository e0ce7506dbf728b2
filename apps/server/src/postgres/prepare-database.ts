import type pg from 'pg';
import { StartError } from '../lib/start-error.ts';
import { type Database, DatabaseUnavailable } from './database.ts';
import { migrate, migrateJobs } from './migrate.ts';

/**
 * The first contact with the database: may this program use it at all, then its tables, then its mark.
 * @throws StartError when it cannot be reached, or belongs to an installation of the other kind.
 */
export async function prepareDatabase(
  database: Database,
  connection: pg.ClientConfig,
  environment: InstallationEnvironment,
): Promise<void> {
  // Before the migrations: a sandbox must not change one table of a production database.
  const found = await findInstallation(database).catch((error: unknown) => {
    throw new StartError(`PostgreSQL cannot be used: ${reasonOf(error)}: is DATABASE_URL right?`, { cause: error });
  });
  if (found !== null) requireOwn(found, environment);
  await migrate(database);
  await migrateJobs(connection);
  requireOwn(await claimInstallation(database, environment), environment);
}

function requireOwn(found: InstallationEnvironment, environment: InstallationEnvironment): void {
  if (found === environment) return;
  throw new StartError(
    `this database belongs to a ${found} installation, and this is ${environment}: use another database or data directory`,
  );
}

function reasonOf(error: unknown): string {
  const reason = error instanceof DatabaseUnavailable ? error.cause : error;
  if (!(reason instanceof Error)) return String(reason);
  // A name with several addresses fails with an error for each and no message for all.
  return reason.message === '' && 'code' in reason ? String(reason.code) : reason.message;
}

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
