import { addSecret, replaceSecrets } from '../auth/client-credentials.ts';
import { type ClientSecret, findClientSecrets, retireClientSecret } from '../postgres/client-secrets.ts';
import type { Database } from '../postgres/database.ts';
import { type Command, type CommandResult, clientNotFound, UsageError } from './manage-command.ts';

export const credentials = (id: string, secret: string): CommandResult => ({
  document: { client_id: id, client_secret: secret },
  text: `client_id      ${id}\nclient_secret  ${secret}`,
});

/** The secrets with which clients log in: one, or two while one replaces the other. */
export const SECRET_COMMANDS: Readonly<Record<string, Command>> = {
  'client new-secret': {
    summary: 'replace all secrets: the old ones obtain no more tokens',
    options: [],
    fourEyes: () => ['keys'],
    async run(database, id) {
      const secret = await replaceSecrets(database, id);
      if (secret === null) throw clientNotFound(id);
      return credentials(id, secret);
    },
  },

  'client add-secret': {
    summary: 'create a second secret',
    description: 'Both are valid until one is retired.',
    options: [],
    fourEyes: () => ['keys'],
    async run(database, id) {
      const secret = await addSecret(database, id);
      if (secret === null) {
        await getSecrets(database, id);
        throw new UsageError(`${id} has two secrets already: retire one with client retire-secret`);
      }
      const { document, text } = credentials(id, secret);
      return { document, text: `${text}\n\nCopy the secret now: it is not shown again. The other one stays valid.` };
    },
  },

  'client secrets': {
    summary: 'list the secrets by their IDs',
    description: 'With when each was created, and last used.',
    options: [],
    readOnly: true,
    async run(database, id) {
      const secrets = await getSecrets(database, id);
      return {
        document: { secrets: secrets.map(secretDocument) },
        text: secrets.map(describeSecret).join('\n'),
      };
    },
  },

  'client retire-secret': {
    summary: 'end one of two secrets: it obtains no more tokens',
    options: ['secret'],
    async run(database, id, { secret: secretId = '' }) {
      const secrets = await getSecrets(database, id);
      const retired = secrets.find((each) => each.secretId === secretId);
      if (retired === undefined)
        throw new UsageError(`--secret takes one of: ${secrets.map((each) => each.secretId).join(' ')}`);
      if (!(await retireClientSecret(database, id, retired)))
        throw new UsageError(`${secretId} is the only secret of ${id}: add another one, or disable the client`);
      return {
        document: { client_id: id, secret_id: secretId },
        text: `secret ${secretId} of ${id} obtains no more tokens`,
      };
    },
  },
};

const secretDocument = ({ secretId, createdAt, lastUsedOn }: ClientSecret) => ({
  secret_id: secretId,
  created_at: createdAt,
  last_used_on: lastUsedOn,
});

const describeSecret = ({ secretId, createdAt, lastUsedOn }: ClientSecret): string =>
  `${secretId}\tcreated ${createdAt}\t${lastUsedOn === null ? 'not used yet' : `last used on ${lastUsedOn}`}`;

async function getSecrets(database: Database, id: string): Promise<ClientSecret[]> {
  const secrets = await findClientSecrets(database, id);
  if (secrets.length === 0) throw clientNotFound(id);
  return secrets;
}
