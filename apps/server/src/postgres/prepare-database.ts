import { StartError } from '../lib/start-error.ts';
import { type Database, DatabaseUnavailable } from './database.ts';
import { migrate, requireSchema } from './migrate.ts';

/** `staging` is production's program in a rehearsal. */
export type InstallationEnvironment = 'sandbox' | 'production' | 'staging';

export interface PrepareOptions {
  readonly environment: InstallationEnvironment;
  /** Whether to migrate. Otherwise a schema that has to be migrated first is an error. */
  readonly migrate: boolean;
  readonly onBlocked?: () => void;
}

/**
 * Prepares the database at start: checks that this environment may use it, migrates the schema or checks that it is
 * there, and marks the database with the environment.
 * @throws StartError when PostgreSQL cannot be reached, the database belongs to another environment, or the schema
 * has to be migrated first.
 */
export async function prepareDatabase(
  database: Database,
  { environment, migrate: mayMigrate, onBlocked }: PrepareOptions,
): Promise<void> {
  // Before the migrations: a sandbox must not change a single table of a production database.
  const found = await findInstallation(database).catch((error: unknown) => {
    throw unusable(error);
  });
  if (found !== null) requireSameEnvironment(found, environment);
  if (mayMigrate) {
    await migrate(database, onBlocked === undefined ? {} : { onBlocked });
  } else {
    await requireSchema(database);
  }
  requireSameEnvironment(await claimInstallation(database, environment), environment);
}

/**
 * PostgreSQL became unavailable while the service started, or its role lacks a right: that is no defect, so the reason
 * and what to do are printed, and no stack. Other errors are returned as they are.
 */
export function asStartError(error: unknown): unknown {
  if (lacksRight(error)) return unusable(error);
  if (!(error instanceof DatabaseUnavailable)) return error;
  return new StartError(`PostgreSQL became unavailable during the start: ${reasonOf(error)}: start again`, {
    cause: error,
  });
}

/** The first use of a database has failed with this error. */
export function unusable(error: unknown): StartError {
  const advice = lacksRight(error)
    ? 'give the role of DATABASE_URL the rights in deploy/postgres/roles.sql'
    : 'is DATABASE_URL right?';
  return new StartError(`PostgreSQL cannot be used: ${reasonOf(error)}: ${advice}`, { cause: error });
}

/** SQLSTATE insufficient_privilege. */
const lacksRight = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '42501';

function requireSameEnvironment(found: InstallationEnvironment, environment: InstallationEnvironment): void {
  if (found === environment) return;
  const isRehearsal = found === 'staging' || environment === 'staging';
  throw new StartError(
    `this database belongs to a ${found} installation, and this is ${environment}: ` +
      `use another database or data directory${isRehearsal ? ', or correct TIBA_STAGING' : ''}`,
  );
}

function reasonOf(error: unknown): string {
  const reason = error instanceof DatabaseUnavailable ? error.cause : error;
  if (!(reason instanceof Error)) return String(reason);
  // A host name with several addresses fails with one error per address, and with no message for all of them.
  return reason.message === '' && 'code' in reason ? String(reason.code) : reason.message;
}

/** The environment that the database is marked with. null when it was never used; the table may not exist then. */
async function findInstallation(database: Database): Promise<InstallationEnvironment | null> {
  const [table] = await database.query<{ exists: boolean }>(
    "select to_regclass('tiba.installation') is not null as exists",
  );
  if (table?.exists !== true) return null;
  const rows = await database.query<{ environment: InstallationEnvironment }>(
    'select environment from tiba.installation',
  );
  return rows[0]?.environment ?? null;
}

/** Marks the database at its first use. Returns the environment that it is marked with. */
async function claimInstallation(
  database: Database,
  environment: InstallationEnvironment,
): Promise<InstallationEnvironment> {
  const rows = await database.query<{ environment: InstallationEnvironment }>(
    `with inserted as (
       insert into tiba.installation (environment) values ($1) on conflict do nothing returning environment)
     select environment from inserted union all select environment from tiba.installation limit 1`,
    [environment],
  );
  return rows[0]?.environment ?? environment;
}
