import { isScope, SCOPES, type Scope } from '../auth/scopes.ts';
import { generateSecret, hashSecret } from '../auth/secrets.ts';
import { rotateSigningKeys, SIGNING_ALGORITHMS } from '../auth/signing-keys.ts';
import { resumePausedValidations } from '../postgres/account-validations.ts';
import {
  CLIENT_LIMITS,
  type ClientLimit,
  type ClientRecord,
  changeClient,
  findAllClients,
  insertClient,
  setClientLimits,
  setClientScopes,
} from '../postgres/clients.ts';
import type { Database } from '../postgres/database.ts';
import { type Command, clientNotFound, type Options, UsageError } from './manage-command.ts';
import { INSTALLATION_COMMANDS } from './manage-installation-commands.ts';
import { openKeyring } from './manage-keyring.ts';
import { describeCredentials, SECRET_COMMANDS } from './manage-secret-commands.ts';
import { SNAP_COMMANDS } from './manage-snap-commands.ts';

const CLIENT_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** What the operator can do to clients and signing keys. Every running process picks up a change within a second. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  'client list': {
    options: [],
    async run(database) {
      const clients = await findAllClients(database);
      if (clients.length === 0) return 'There are no clients yet. Create one with: npm run manage -- client create';
      return clients.map(describeClient).join('\n');
    },
  },

  'client create': {
    options: ['name', 'scope'],
    async run(database, id, { name = id, scope }) {
      if (!CLIENT_ID.test(id))
        throw new UsageError('a client ID has 1 to 64 letters, digits, dots, dashes or underscores');
      const scopes = readScopes(scope);
      const secret = generateSecret();
      const created = await insertClient(database, { clientId: id, name, secretHash: hashSecret(secret), scopes });
      if (!created) throw new UsageError(`client ${id} already exists`);
      const credentials = describeCredentials(id, secret);
      return `${credentials}\n\nCopy the secret now: it is not shown again, because only its hash is stored.`;
    },
  },

  'client scopes': {
    options: ['scope'],
    async run(database, id, { scope }) {
      const scopes = readScopes(scope);
      requireClient(id, await setClientScopes(database, id, scopes));
      return `scopes of ${id}: ${scopes.join(' ')}`;
    },
  },

  'client limits': {
    options: CLIENT_LIMITS,
    async run(database, id, options) {
      const limits = readLimits(options);
      if (Object.keys(limits).length > 0) {
        requireClient(id, await setClientLimits(database, id, limits));
        await resumePausedValidations(database, id);
      }
      const client = await getClient(database, id);
      const values = CLIENT_LIMITS.map((name) => `${name} ${client.limits[name] ?? 'default'}`);
      return `limits of ${id}: ${values.join(', ')}`;
    },
  },

  'client trust': {
    options: [],
    async run(database, id) {
      requireClient(id, await changeClient(database, id, 'trust'));
      await resumePausedValidations(database, id);
      return `${id} is trusted: the enumeration guard applies only its daily limit of accounts`;
    },
  },

  'client distrust': {
    options: [],
    async run(database, id) {
      requireClient(id, await changeClient(database, id, 'distrust'));
      return `${id} is no longer trusted: all signals of the enumeration guard apply to it`;
    },
  },

  'client disable': {
    options: [],
    async run(database, id) {
      requireClient(id, await changeClient(database, id, 'disable'));
      return `${id} is disabled`;
    },
  },

  'client enable': {
    options: [],
    async run(database, id) {
      requireClient(id, await changeClient(database, id, 'enable'));
      return `${id} is enabled`;
    },
  },

  'client revoke-tokens': {
    options: [],
    async run(database, id) {
      requireClient(id, await changeClient(database, id, 'revoke-tokens'));
      return `all access tokens that ${id} had are revoked`;
    },
  },

  ...SECRET_COMMANDS,
  ...SNAP_COMMANDS,
  ...INSTALLATION_COMMANDS,

  'keys rotate': {
    options: ['algorithm'],
    async run(database, _id, { algorithm: requested = 'EdDSA' }, settings) {
      const algorithm = SIGNING_ALGORITHMS.find((each) => each === requested);
      if (algorithm === undefined) throw new UsageError(`--algorithm takes one of: ${SIGNING_ALGORITHMS.join(' ')}`);
      const seal = await openKeyring(database, settings);
      return `key ${await rotateSigningKeys(database, seal, algorithm)} signs new tokens from now on`;
    },
  },
};

const describeClient = ({ clientId, name, scopes, limits, trusted, disabled }: ClientRecord): string =>
  [
    clientId,
    name,
    scopes.join(' '),
    ...CLIENT_LIMITS.flatMap((limit) => (limits[limit] === undefined ? [] : [`${limit} ${limits[limit]}`])),
    ...(trusted ? ['trusted'] : []),
    ...(disabled ? ['disabled'] : []),
  ].join('\t');

function readScopes(text = ''): Scope[] {
  const names = text.split(' ').filter((each) => each !== '');
  const scopes = names.filter(isScope);
  if (scopes.length === 0 || scopes.length < names.length)
    throw new UsageError(`--scope takes one or more of: ${SCOPES.join(' ')}`);
  return scopes;
}

/** The limits named on the command line; null resets a limit to the default. */
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

/** @throws UsageError when the statement changed no client */
function requireClient(id: string, changed: boolean): void {
  if (!changed) throw clientNotFound(id);
}
