import { parseArgs } from 'node:util';
import { isScope, SCOPES, type Scope } from '../auth/scopes.ts';
import { createSeal, generateSecret, hashSecret } from '../auth/secrets.ts';
import { rotateSigningKeys, SIGNING_ALGORITHMS } from '../auth/signing-keys.ts';
import { readSettings, type Settings, SettingsError } from '../config.ts';
import { ownProperty } from '../lib/own-property.ts';
import { StartError } from '../lib/start-error.ts';
import { createLog } from '../observability/log.ts';
import { resumePausedValidations } from '../postgres/account-validations.ts';
import {
  CLIENT_LIMITS,
  type ClientLimit,
  type ClientRecord,
  changeClient,
  findAllClients,
  insertClient,
  replaceClientSecret,
  setClientLimits,
  setClientScopes,
} from '../postgres/clients.ts';
import { type Database, DatabaseUnavailable, openDatabase } from '../postgres/database.ts';
import { migrate } from '../postgres/migrate.ts';
import { connectToPostgres } from './open-postgres.ts';

const USAGE = `npm run manage -- COMMAND

  client list
  client create ID --name NAME --scope "${SCOPES.join(' ')}"
  client new-secret ID       a new secret at once; the old one obtains no more tokens
  client scopes ID --scope "…"
                             all that it may do from now on: what is not named is out within a second, of the
                             tokens that it has too; what is new, it obtains with its next token
  client limits ID [--check-status N] [--check-account N] [--accounts-per-day N]
                             requests per minute, and different accounts that may be checked in a day;
                             what is left out stays, and "default" is as for everybody; alone it shows them
  client trust ID            it may check accounts as if it were collecting them
  client distrust ID
  client disable ID          out within a second, with all its tokens
  client enable ID
  client revoke-tokens ID    the tokens that it has now are no longer good
  keys rotate [--algorithm ${SIGNING_ALGORITHMS.join('|')}]
                             a new key signs from now on; tokens of the old one stay good

Works while the service runs, on its database: set DATABASE_URL, or TIBA_DATA_DIR for the embedded PostgreSQL, as it has
them. Without either it is the sandbox's in ./.tiba. It never makes a new database. Keys need TIBA_SECRET_KEY.`;

const OPTIONS = {
  name: { type: 'string' },
  scope: { type: 'string' },
  algorithm: { type: 'string' },
  'check-status': { type: 'string' },
  'check-account': { type: 'string' },
  'accounts-per-day': { type: 'string' },
} as const;

type Options = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];
type Action = (database: Database, id: string, options: Options, settings: Settings) => Promise<string>;

/** What the operator does to clients and keys. Every change reaches all running processes by itself. */
const ACTIONS: Readonly<Record<string, Action>> = {
  'client list': async (database) => {
    const clients = await findAllClients(database);
    const rows = clients.map(({ clientId, name, scopes, limits, trusted, disabled }) =>
      [
        clientId,
        name,
        scopes.join(' '),
        ...CLIENT_LIMITS.flatMap((limit) => (limits[limit] === undefined ? [] : [`${limit} ${limits[limit]}`])),
        ...(trusted ? ['trusted'] : []),
        ...(disabled ? ['disabled'] : []),
      ].join('\t'),
    );
    return rows.length === 0 ? 'There are no clients yet: npm run manage -- client create' : rows.join('\n');
  },

  'client create': async (database, id, { name = id, scope }) => {
    if (!CLIENT_ID.test(id))
      throw new UsageError('a client ID has 1 to 64 letters, digits, dots, dashes or underscores');
    const scopes = readScopes(scope);
    const secret = generateSecret();
    const created = await insertClient(database, { clientId: id, name, secretHash: hashSecret(secret), scopes });
    if (!created) throw new UsageError(`there is a client ${id} already`);
    return `client_id      ${id}\nclient_secret  ${secret}\n\nThe secret is shown this once: only its hash is kept.`;
  },

  'client new-secret': async (database, id) => {
    const secret = generateSecret();
    requireClient(id, await replaceClientSecret(database, id, hashSecret(secret)));
    return `client_id      ${id}\nclient_secret  ${secret}`;
  },

  'client scopes': async (database, id, { scope }) => {
    const scopes = readScopes(scope);
    requireClient(id, await setClientScopes(database, id, scopes));
    return `scopes of ${id}: ${scopes.join(' ')}`;
  },

  'client limits': async (database, id, options) => {
    const limits = readLimits(options);
    if (Object.keys(limits).length > 0) {
      requireClient(id, await setClientLimits(database, id, limits));
      await resumePausedValidations(database, id);
    }
    const client = await getClient(database, id);
    const said = CLIENT_LIMITS.map((name) => `${name} ${client.limits[name] ?? 'as everybody'}`);
    return `limits of ${id}: ${said.join(', ')}`;
  },

  'client trust': async (database, id) => {
    requireClient(id, await changeClient(database, id, 'trust'));
    await resumePausedValidations(database, id);
    return `${id} may check accounts as if it were collecting them`;
  },

  'client distrust': async (database, id) => {
    requireClient(id, await changeClient(database, id, 'distrust'));
    return `${id} is watched for signs that it collects accounts`;
  },

  'client disable': async (database, id) => {
    requireClient(id, await changeClient(database, id, 'disable'));
    return `${id} is disabled`;
  },

  'client enable': async (database, id) => {
    requireClient(id, await changeClient(database, id, 'enable'));
    return `${id} is enabled`;
  },

  'client revoke-tokens': async (database, id) => {
    requireClient(id, await changeClient(database, id, 'revoke-tokens'));
    return `the tokens that ${id} had are revoked`;
  },

  'keys rotate': async (database, _id, { algorithm: named = 'EdDSA' }, { secretKey }) => {
    const algorithm = SIGNING_ALGORITHMS.find((each) => each === named);
    if (algorithm === undefined) throw new UsageError(`--algorithm takes one of: ${SIGNING_ALGORITHMS.join(' ')}`);
    if (secretKey === null) throw new SettingsError(['TIBA_SECRET_KEY is missing: the same as the service has']);
    return `the key ${await rotateSigningKeys(database, createSeal(secretKey), algorithm)} signs from now on`;
  },
};

/** The options of each; those that are not here have none. */
const OPTIONS_OF: Readonly<Record<string, readonly string[]>> = {
  'client create': ['name', 'scope'],
  'client scopes': ['scope'],
  'client limits': CLIENT_LIMITS,
  'keys rotate': ['algorithm'],
};

const CLIENT_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** What was typed is wrong; the message says how. */
class UsageError extends Error {}

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
  const command = `${noun} ${verb}`.trim();
  const action = ownProperty(ACTIONS, command);
  if (action === undefined)
    throw new UsageError(args.length === 0 ? 'Say what to do.' : `There is no command ${command}.`);
  const needsClientId = noun === 'client' && verb !== 'list';
  if (needsClientId && id === '') throw new UsageError('Say which client: its ID is missing.');
  const accepted = ownProperty(OPTIONS_OF, command) ?? [];
  const options = Object.keys(values).filter((option) => !accepted.includes(option));
  const unused = [...positionals.slice(needsClientId ? 3 : 2), ...options.map((option) => `--${option}`)];
  // Whoever thinks that it had an effect may leave a client in.
  if (unused.length > 0) throw new UsageError(`${command} takes no ${unused.join(' ')}: nothing was done.`);

  const settings = readSettings('manage');
  const postgres = await connectToPostgres(settings, (line) => process.stderr.write(`${line}\n`));
  const { log } = createLog(STDERR, 'error');
  const database = openDatabase({ connection: postgres.connection, connectionsMax: 1, log });
  try {
    await migrate(database);
    return await action(database, id, values, settings);
  } finally {
    await database.close();
    await postgres.stop();
  }
}

/** It may have gone away after it had done what was asked. */
const unavailable = (error: DatabaseUnavailable): StartError => {
  const why = error.cause instanceof Error ? error.cause.message : String(error.cause);
  return new StartError(`The database cannot answer now (${why}): when it is back, client list shows what was done`, {
    cause: error,
  });
};

const STDERR = 2;

function parse(args: string[]): { values: Options; positionals: string[] } {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function readScopes(text = ''): Scope[] {
  const names = text.split(' ').filter((each) => each !== '');
  const scopes = names.filter(isScope);
  if (scopes.length === 0 || scopes.length < names.length)
    throw new UsageError(`--scope takes one or more of: ${SCOPES.join(' ')}`);
  return scopes;
}

/** What was said of limits; null is as for everybody again. */
function readLimits(options: Options): Partial<Record<ClientLimit, number | null>> {
  return Object.fromEntries(
    CLIENT_LIMITS.flatMap((name) => {
      const text = options[name];
      return text === undefined ? [] : [[name, readLimit(text)]];
    }),
  );
}

function readLimit(text: string): number | null {
  if (text === 'default') return null;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError('a limit is a whole number, or default');
}

async function getClient(database: Database, id: string): Promise<ClientRecord> {
  const client = (await findAllClients(database)).find(({ clientId }) => clientId === id);
  if (client === undefined) throw clientNotFound(id);
  return client;
}

function requireClient(id: string, changed: boolean): void {
  if (!changed) throw clientNotFound(id);
}

const clientNotFound = (id: string): UsageError => new UsageError(`there is no client ${id}: see client list`);
