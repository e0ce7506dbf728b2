import { readSettings } from '../config.ts';
import { createLog } from '../observability/log.ts';
import { openDatabase } from '../postgres/database.ts';
import { prepareDatabase } from '../postgres/prepare-database.ts';
import { connectToPostgres } from './open-postgres.ts';
import { environmentOf } from './production.ts';

const STDERR = 2;

/**
 * `npm run migrate`: brings production's schema up to date, while the processes of the release before it run. Repeating
 * it changes nothing.
 */
export async function migrate(): Promise<void> {
  const settings = readSettings('manage');
  const print = (line: string): void => void process.stderr.write(`${line}\n`);
  const postgres = await connectToPostgres(settings, print);
  const database = openDatabase({
    connection: postgres.connection,
    connectionsMax: 1,
    log: createLog(STDERR, 'error').log,
  });
  try {
    await prepareDatabase(database, postgres.connection, {
      environment: environmentOf(settings),
      migrate: true,
      onBlocked: () => print('waiting for a transaction that holds a table (see pg_stat_activity); trying again …'),
    });
    process.stdout.write('The schema is up to date.\n');
  } finally {
    await database.close();
    await postgres.stop();
  }
}
