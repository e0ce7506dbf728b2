import { parseArgs } from 'node:util';
import { SCOPES } from '../auth/scopes.ts';
import { SIGNING_ALGORITHMS } from '../auth/signing-keys.ts';
import { readSettings } from '../config.ts';
import { ownProperty } from '../lib/own-property.ts';
import { StartError } from '../lib/start-error.ts';
import { createLog } from '../observability/log.ts';
import { DatabaseUnavailable, openDatabase } from '../postgres/database.ts';
import { requireSchema } from '../postgres/migrate.ts';
import { type Options, UsageError } from './manage-command.ts';
import { COMMANDS } from './manage-commands.ts';
import { connectToPostgres } from './open-postgres.ts';

const USAGE = `npm run manage -- COMMAND

  client list                list the clients with their scopes and limits
  client create ID --name NAME --scope "${SCOPES.join(' ')}"
  client new-secret ID       replace all secrets: the old ones obtain no more tokens
  client add-secret ID       create a second secret; both are valid until one is retired
  client secrets ID          list the secrets by their IDs: when each was created, and last used
  client retire-secret ID --secret SECRET_ID
                             end one of two secrets: it obtains no more tokens
  client scopes ID --scope "…"
                             replace the scopes. A scope that is left out ends within a second, also for tokens
                             already issued; a new scope is in the next token
  client limits ID [--check-status N] [--check-account N] [--accounts-per-day N]
                             set requests per minute, and different accounts checked per day. A limit that is left
                             out keeps its value; "default" resets it; without options the limits are shown
  client trust ID            exempt the client from the enumeration guard, except for its daily limit
  client distrust ID         apply the whole enumeration guard again
  client disable ID          reject the client and all its tokens within a second
  client enable ID           let a disabled client in again
  client revoke-tokens ID    revoke the tokens that the client has now
  client snap ID [--partner-id ID] [--external-ids strict|off] [--body-hash minified|without_whitespace]
                 [--clock-skew SECONDS]
                             let the client use the SNAP listener, or change how it does; without options the present
                             options and keys are shown. Token requests may be off by 300 s at most
  client snap-key ID [--add FILE] [--remove KEY_ID]
                             add an RSA public key (PEM) of the client, or remove one; several are valid at a time
  client snap-secret ID [--former-hours N]
                             create the secret of its symmetric signatures; the former one is valid for 24 more
                             hours, or N
  client snap-end ID         end the client's use of the SNAP listener, and delete its keys
  keys rotate [--algorithm ${SIGNING_ALGORITHMS.join('|')}]
                             sign with a new key from now on; tokens signed with the old key stay valid
  secret-key                 show how far the replacement of TIBA_SECRET_KEY is
  restored                   after a backup was restored, before the service starts: number events anew, so that
                             readers beyond the backup are told, revoke all tokens; says what to do next

The commands work on the service's database while the service runs. Set DATABASE_URL, or TIBA_DATA_DIR for the embedded
PostgreSQL, to the service's values; without either, the sandbox in ./.tiba is used. No command creates a database.
keys rotate and client snap-secret need TIBA_SECRET_KEY.`;

const OPTIONS = {
  name: { type: 'string' },
  scope: { type: 'string' },
  algorithm: { type: 'string' },
  'check-status': { type: 'string' },
  'check-account': { type: 'string' },
  'accounts-per-day': { type: 'string' },
  'partner-id': { type: 'string' },
  'external-ids': { type: 'string' },
  'body-hash': { type: 'string' },
  'clock-skew': { type: 'string' },
  add: { type: 'string' },
  remove: { type: 'string' },
  'former-hours': { type: 'string' },
  secret: { type: 'string' },
} as const satisfies Record<keyof Options, { type: 'string' }>;

const STDERR = 2;

/** `npm run manage -- …`: prints the result to stdout; prints the database, and any error, to stderr. */
export async function manage(args: string[]): Promise<void> {
  try {
    process.stdout.write(`${await run(args)}\n`);
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw unavailable(error);
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n\n${USAGE}\n`);
    process.exitCode = 1;
  }
}

async function run(args: string[]): Promise<string> {
  const { values, positionals } = parse(args);
  const [noun = '', verb = '', id = ''] = positionals;
  const name = `${noun} ${verb}`.trim();
  const command = ownProperty(COMMANDS, name);
  if (command === undefined)
    throw new UsageError(args.length === 0 ? 'The command is missing.' : `There is no command ${name}.`);
  const needsClientId = noun === 'client' && verb !== 'list';
  if (needsClientId && id === '') throw new UsageError(`The client's ID is missing: ${name} ID`);
  const unknown = Object.keys(values).filter((option) => !command.options.some((each) => each === option));
  const unused = [...positionals.slice(needsClientId ? 3 : 2), ...unknown.map((option) => `--${option}`)];
  // An ignored argument would be dangerous: the operator could believe that a client is disabled when it is not.
  if (unused.length > 0) throw new UsageError(`${name} takes no ${unused.join(' ')}: nothing was done.`);

  const settings = readSettings('manage');
  const postgres = await connectToPostgres(settings, (line) => process.stderr.write(`${line}\n`));
  const { log } = createLog(STDERR, 'error');
  const database = openDatabase({ connection: postgres.connection, connectionsMax: 1, log });
  try {
    await requireSchema(database);
    return await command.run(database, id, values, settings);
  } finally {
    await database.close();
    await postgres.stop();
  }
}

/** The connection may have been lost after the change was committed, so the message cannot say that it failed. */
function unavailable(error: DatabaseUnavailable): StartError {
  const reason = error.cause instanceof Error ? error.cause.message : String(error.cause);
  const advice = 'when it is available again, check with client list whether the change was made';
  return new StartError(`The database is unavailable (${reason}): ${advice}`, { cause: error });
}

function parse(args: string[]): { values: Options; positionals: string[] } {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
