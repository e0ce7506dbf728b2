import { readSettings } from '../config/config.ts';
import { StartError } from '../lib/start-error.ts';
import { createLog } from '../observability/log.ts';
import { openDatabase } from '../postgres/database.ts';
import { distribute } from '../postgres/distributed/distribution.ts';
import { asStartError, prepareDatabase } from '../postgres/prepare-database.ts';
import { connectToPostgres, environmentOf } from './open-postgres.ts';

const STDERR = 2;
const DISTRIBUTE = '--distribute';

/**
 * `npm run migrate`: brings production's schema up to date, while the processes of the release before it run. Repeating
 * it changes nothing. With `--distribute`, it then distributes the tables that grow over the nodes of Citus
 * (docs/scaling.md).
 */
export async function migrate(args: readonly string[]): Promise<void> {
  const unknown = args.find((argument) => argument !== DISTRIBUTE);
  if (unknown !== undefined) throw new StartError(`npm run migrate does not know ${unknown}: only ${DISTRIBUTE}`);
  const settings = readSettings('manage');
  const environment = environmentOf(settings);
  const distributes = args.includes(DISTRIBUTE);
  if (distributes && environment === 'production') {
    throw new StartError(
      `${DISTRIBUTE} is for rehearsals: it needs TIBA_STAGING=yes. ` +
        'docs/scaling.md says what does not run on a distributed database yet',
    );
  }
  const print = (line: string): void => void process.stderr.write(`${line}\n`);
  const postgres = await connectToPostgres(settings, print);
  const database = openDatabase({
    connection: postgres.connection,
    connectionsMax: 1,
    log: createLog(STDERR, 'error').log,
  });
  try {
    await prepareDatabase(database, {
      environment,
      migrate: true,
      onBlocked: () => print('waiting for a transaction that holds a table (see pg_stat_activity); trying again …'),
    });
    if (distributes) await distribute(database, (table) => print(`distributing ${table} …`));
    process.stdout.write(distributes ? 'The schema is up to date and distributed.\n' : 'The schema is up to date.\n');
  } catch (error) {
    throw asStartError(error);
  } finally {
    await database.close();
    await postgres.stop();
  }
}
