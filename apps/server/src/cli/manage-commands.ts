import { createClient, isNewClientId } from '../auth/client-credentials.ts';
import { isScope, SCOPES, type Scope } from '../auth/scopes.ts';
import { rotateSigningKeys, SIGNING_ALGORITHMS } from '../auth/signing-keys.ts';
import { resumePausedValidations } from '../postgres/account-validations.ts';
import {
  CLIENT_LIMITS,
  type ClientLimit,
  type ClientRecord,
  changeClient,
  findAllClients,
  setClientLimits,
  setClientScopes,
} from '../postgres/clients.ts';
import type { Database } from '../postgres/database.ts';
import { ARCHIVE_COMMANDS } from './manage-archive-commands.ts';
import { type Command, clientNotFound, type Options, UsageError } from './manage-command.ts';
import { INSTALLATION_COMMANDS } from './manage-installation-commands.ts';
import { openKeyring } from './manage-keyring.ts';
import { PERSON_COMMANDS } from './manage-person-commands.ts';
import { credentials, SECRET_COMMANDS } from './manage-secret-commands.ts';
import { SESSION_COMMANDS } from './manage-session-commands.ts';
import { SNAP_COMMANDS } from './manage-snap-commands.ts';

/** What the operator can do to clients and signing keys. Every running process picks up a change within a second. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  'client list': {
    summary: 'list the clients with their scopes and limits',
    options: [],
    readOnly: true,
    async run(database) {
      const clients = await findAllClients(database);
      const none = 'There are no clients yet. Create one with: npm run manage -- client create';
      return {
        document: { clients: clients.map(clientDocument) },
        text: clients.length === 0 ? none : clients.map(describeClient).join('\n'),
      };
    },
  },

  'client create': {
    summary: 'create a client, and print its secret',
    options: ['name', 'scope'],
    fourEyes: () => ['keys', 'trust'],
    async run(database, id, { name = id, scope }) {
      if (!isNewClientId(id))
        throw new UsageError('a client ID has 1 to 64 letters, digits, dots, dashes or underscores');
      const scopes = readScopes(scope);
      const secret = await createClient(database, { clientId: id, name, scopes });
      if (secret === null) throw new UsageError(`client ${id} already exists`);
      const { document, text } = credentials(id, secret);
      return {
        document,
        text: `${text}\n\nCopy the secret now: it is not shown again, because only its hash is stored.`,
      };
    },
  },

  'client scopes': {
    summary: 'replace the scopes',
    description:
      'A scope that is left out ends within a second, also for tokens already issued. A new one is in the next token.',
    options: ['scope'],
    fourEyes: () => ['trust'],
    async run(database, id, { scope }) {
      const scopes = readScopes(scope);
      requireClient(id, await setClientScopes(database, id, scopes));
      return { document: { client_id: id, scopes }, text: `scopes of ${id}: ${scopes.join(' ')}` };
    },
  },

  'client limits': {
    summary: 'show or change requests per minute, and different accounts checked per day',
    description: 'A limit that is left out keeps its value; "default" resets it; without options the limits are shown.',
    options: CLIENT_LIMITS,
    fourEyes: (options) => (CLIENT_LIMITS.some((limit) => options[limit] !== undefined) ? ['limits'] : []),
    async run(database, id, options) {
      const limits = readLimits(options);
      if (Object.keys(limits).length > 0) {
        requireClient(id, await setClientLimits(database, id, limits));
        await resumePausedValidations(database, id);
      }
      const client = await getClient(database, id);
      const values = CLIENT_LIMITS.map((name) => `${name} ${client.limits[name] ?? 'default'}`);
      return { document: clientDocument(client), text: `limits of ${id}: ${values.join(', ')}` };
    },
  },

  'client trust': {
    summary: 'exempt the client from the enumeration guard, except for its daily limit',
    options: [],
    fourEyes: () => ['trust'],
    async run(database, id) {
      requireClient(id, await changeClient(database, id, 'trust'));
      await resumePausedValidations(database, id);
      const text = `${id} is trusted: the enumeration guard applies only its daily limit of accounts`;
      return { document: { client_id: id, trusted: true }, text };
    },
  },

  'client distrust': {
    summary: 'apply the whole enumeration guard again',
    options: [],
    fourEyes: () => ['trust'],
    async run(database, id) {
      requireClient(id, await changeClient(database, id, 'distrust'));
      const text = `${id} is no longer trusted: all signals of the enumeration guard apply to it`;
      return { document: { client_id: id, trusted: false }, text };
    },
  },

  'client disable': {
    summary: 'reject the client and all its tokens within a second',
    options: [],
    async run(database, id) {
      requireClient(id, await changeClient(database, id, 'disable'));
      const text = `${id} is disabled`;
      return { document: { client_id: id, disabled: true }, text };
    },
  },

  'client enable': {
    summary: 'let a disabled client in again',
    options: [],
    fourEyes: () => ['trust'],
    async run(database, id) {
      requireClient(id, await changeClient(database, id, 'enable'));
      const text = `${id} is enabled`;
      return { document: { client_id: id, disabled: false }, text };
    },
  },

  'client revoke-tokens': {
    summary: 'revoke the tokens that the client has now',
    options: [],
    async run(database, id) {
      requireClient(id, await changeClient(database, id, 'revoke-tokens'));
      const text = `all access tokens that ${id} had are revoked`;
      return { document: { client_id: id, tokens_revoked: true }, text };
    },
  },

  ...SECRET_COMMANDS,
  ...SNAP_COMMANDS,
  ...SESSION_COMMANDS,
  ...INSTALLATION_COMMANDS,
  ...ARCHIVE_COMMANDS,
  ...PERSON_COMMANDS,

  'keys rotate': {
    summary: 'sign with a new key from now on',
    description: 'Tokens signed with the old key stay valid. It needs TIBA_SECRET_KEY.',
    options: ['algorithm'],
    fourEyes: () => ['keys'],
    async run(database, _id, { algorithm: requested = 'EdDSA' }, settings) {
      const algorithm = SIGNING_ALGORITHMS.find((each) => each === requested);
      if (algorithm === undefined) throw new UsageError(`--algorithm takes one of: ${SIGNING_ALGORITHMS.join(' ')}`);
      const seal = await openKeyring(database, settings);
      const keyId = await rotateSigningKeys(database, seal, algorithm);
      return { document: { key_id: keyId, algorithm }, text: `key ${keyId} signs new tokens from now on` };
    },
  },
};

/** A limit that is null has its default. */
const clientDocument = ({ clientId, name, scopes, limits, trusted, disabled }: ClientRecord) => ({
  client_id: clientId,
  name,
  scopes,
  limits: Object.fromEntries(CLIENT_LIMITS.map((limit) => [limit, limits[limit] ?? null])),
  trusted,
  disabled,
});

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
