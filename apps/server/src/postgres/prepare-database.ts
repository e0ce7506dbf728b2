import type pg from 'pg';
import { StartError } from '../lib/start-error.ts';
import { type Database, DatabaseUnavailable } from './database.ts';
import { claimInstallation, findInstallation, type InstallationEnvironment } from './installation.ts';
import { migrate } from './migrate.ts';
import { migrateJobs } from './migrate-jobs.ts';

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
