import { generateSecret, hashSecret } from '../auth/secrets.ts';
import {
  addClientSecret,
  type ClientSecret,
  findClientSecrets,
  replaceClientSecret,
  retireClientSecret,
} from '../postgres/client-secrets.ts';
import type { Database } from '../postgres/database.ts';
import { type Command, clientNotFound, UsageError } from './manage-command.ts';

export const describeCredentials = (id: string, secret: string): string =>
  `client_id      ${id}\nclient_secret  ${secret}`;

/** The secrets with which clients log in: one, or two while one replaces the other. */
export const SECRET_COMMANDS: Readonly<Record<string, Command>> = {
  'client new-secret': {
    options: [],
    async run(database, id) {
      const secret = generateSecret();
      if (!(await replaceClientSecret(database, id, hashSecret(secret)))) throw clientNotFound(id);
      return describeCredentials(id, secret);
    },
  },

  'client add-secret': {
    options: [],
    async run(database, id) {
      const secret = generateSecret();
      if (!(await addClientSecret(database, id, hashSecret(secret)))) {
        await getSecrets(database, id);
        throw new UsageError(`${id} has two secrets already: retire one with client retire-secret`);
      }
      const credentials = describeCredentials(id, secret);
      return `${credentials}\n\nCopy the secret now: it is not shown again. The other one stays valid.`;
    },
  },

  'client secrets': {
    options: [],
    run: async (database, id) => (await getSecrets(database, id)).map(describeSecret).join('\n'),
  },

  'client retire-secret': {
    options: ['secret'],
    async run(database, id, { secret: secretId = '' }) {
      const secrets = await getSecrets(database, id);
      const retired = secrets.find((each) => each.secretId === secretId);
      if (retired === undefined)
        throw new UsageError(`--secret takes one of: ${secrets.map((each) => each.secretId).join(' ')}`);
      if (!(await retireClientSecret(database, id, retired)))
        throw new UsageError(`${secretId} is the only secret of ${id}: add another one, or disable the client`);
      return `secret ${secretId} of ${id} obtains no more tokens`;
    },
  },
};

const describeSecret = ({ secretId, createdAt, lastUsedOn }: ClientSecret): string =>
  `${secretId}\tcreated ${createdAt}\t${lastUsedOn === null ? 'not used yet' : `last used on ${lastUsedOn}`}`;

async function getSecrets(database: Database, id: string): Promise<ClientSecret[]> {
  const secrets = await findClientSecrets(database, id);
  if (secrets.length === 0) throw clientNotFound(id);
  return secrets;
}
