import { readFile } from 'node:fs/promises';
import {
  addSnapKey,
  allowSnap,
  CLOCK_SKEW_SECONDS_MAX,
  FORMER_HOURS,
  findSnapClient,
  formerSecretUntil,
  isClockSkew,
  isPartnerId,
  PUBLIC_KEYS_MAX,
  renewSnapSecret,
  type SnapRefusal,
  snapJson,
} from '../auth/snap-clients.ts';
import { InvalidPublicKey, readSnapPublicKey } from '../auth/snap-credentials.ts';
import { findAllClients } from '../postgres/clients.ts';
import type { Database } from '../postgres/database.ts';
import {
  BODY_HASHES,
  deleteSnapClient,
  deleteSnapPublicKey,
  EXTERNAL_ID_RULES,
  type SnapClientOptions,
  type SnapClientRecord,
} from '../postgres/snap-clients.ts';
import { type Command, clientNotFound, type Options, UsageError } from './manage-command.ts';
import { openKeyring } from './manage-keyring.ts';

/** What the operator can do to a client's use of the SNAP listener. */
export const SNAP_COMMANDS: Readonly<Record<string, Command>> = {
  'client snap': {
    summary: 'let the client use the SNAP listener, or change how it does',
    description: 'Without options the present options and keys are shown.',
    options: ['partner-id', 'external-ids', 'body-hash', 'clock-skew'],
    fourEyes: (options) => (Object.keys(readOptions(options)).length > 0 ? ['keys'] : []),
    async run(database, id, options) {
      const changes = readOptions(options);
      await requireClient(database, id);
      if (Object.keys(changes).length > 0) accepted(id, await allowSnap(database, id, changes));
      const client = await findSnapClient(database, id);
      if (client !== null) return { document: { client_id: id, snap: snapJson(client) }, text: describe(client) };
      return {
        document: { client_id: id, snap: null },
        text: `${id} cannot use the SNAP listener: add a key with client snap-key, or a secret with client snap-secret`,
      };
    },
  },

  'client snap-key': {
    summary: 'add an RSA public key (PEM) of the client, or remove one',
    description: 'Several keys are valid at a time.',
    options: ['add', 'remove'],
    fourEyes: ({ add }) => (add === undefined ? [] : ['keys']),
    async run(database, id, { add, remove }) {
      if ((add === undefined) === (remove === undefined)) throw new UsageError('give --add FILE or --remove KEY_ID');
      await requireClient(database, id);
      if (remove !== undefined) {
        const removed = await deleteSnapPublicKey(database, id, remove);
        if (!removed) throw new UsageError(`${id} has no key ${remove}: list its keys with client snap ${id}`);
        const text = `key ${remove} of ${id} is removed: its signatures are rejected within a second`;
        return { document: { client_id: id, removed_key_id: remove }, text };
      }
      const key = await readKeyFile(add ?? '');
      const { isNew } = accepted(id, await addSnapKey(database, id, key));
      return {
        document: { client_id: id, key_id: key.keyId, is_new: isNew },
        text: isNew ? `key ${key.keyId} of ${id} is active within a second` : `${id} has key ${key.keyId} already`,
      };
    },
  },

  'client snap-secret': {
    summary: 'create the secret of its symmetric signatures',
    description: 'The former secret is valid for 24 more hours, or as --former-hours says. It needs TIBA_SECRET_KEY.',
    options: ['former-hours'],
    fourEyes: () => ['keys'],
    async run(database, id, { 'former-hours': formerHours = String(FORMER_HOURS) }, settings) {
      if (!/^\d{1,3}$/.test(formerHours)) throw new UsageError('--former-hours takes a whole number from 0 to 999');
      await requireClient(database, id);
      const seal = await openKeyring(database, settings);
      const order = { clientId: id, formerHours: Number(formerHours) };
      const { secret } = accepted(id, await renewSnapSecret(database, seal, order));
      return {
        document: { client_id: id, snap_secret: secret },
        text: `client_id    ${id}\nsnap_secret  ${secret}\n\nCopy the secret now: it is not shown again.`,
      };
    },
  },

  'client snap-end': {
    summary: "end the client's use of the SNAP listener, and delete its keys",
    options: [],
    async run(database, id) {
      await requireClient(database, id);
      const ended = await deleteSnapClient(database, id);
      return {
        document: { client_id: id, ended },
        text: ended ? `${id} can no longer use the SNAP listener` : `${id} could not use the SNAP listener before`,
      };
    },
  },
};

function readOptions(options: Options): SnapClientOptions {
  const { 'partner-id': partnerId, 'external-ids': rule, 'body-hash': hashName, 'clock-skew': skew } = options;
  if (partnerId !== undefined && !isPartnerId(partnerId)) {
    throw new UsageError('--partner-id takes 1 to 36 printable ASCII characters without spaces');
  }
  const clockSkewSeconds = Number(skew);
  const isSkew = /^\d{1,5}$/.test(skew ?? '') && isClockSkew(clockSkewSeconds);
  if (skew !== undefined && !isSkew) {
    throw new UsageError(`--clock-skew takes a whole number of seconds from 1 to ${CLOCK_SKEW_SECONDS_MAX}`);
  }
  return {
    ...(partnerId === undefined ? {} : { partnerId }),
    ...(rule === undefined ? {} : { externalIds: oneOf('--external-ids', EXTERNAL_ID_RULES, rule) }),
    ...(hashName === undefined ? {} : { bodyHash: oneOf('--body-hash', BODY_HASHES, hashName) }),
    ...(skew === undefined ? {} : { clockSkewSeconds }),
  };
}

function oneOf<T extends string>(option: string, values: readonly T[], text: string): T {
  const value = values.find((each) => each === text);
  if (value === undefined) throw new UsageError(`${option} takes one of: ${values.join(' ')}`);
  return value;
}

async function readKeyFile(file: string): Promise<ReturnType<typeof readSnapPublicKey>> {
  const pem = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new UsageError(`${file} cannot be read: --add takes the file with the client's public key`, { cause });
  });
  try {
    return readSnapPublicKey(pem);
  } catch (error) {
    if (error instanceof InvalidPublicKey) throw new UsageError(`${file}: ${error.message}`);
    throw error;
  }
}

async function requireClient(database: Database, id: string): Promise<void> {
  const clients = await findAllClients(database);
  if (!clients.some(({ clientId }) => clientId === id)) throw clientNotFound(id);
}

/** What was done. @throws UsageError which says why nothing was */
function accepted<Done extends object>(id: string, outcome: Done | SnapRefusal): Done {
  if (!('refusal' in outcome)) return outcome;
  if (outcome.refusal === 'too many keys')
    throw new UsageError(`${id} has ${PUBLIC_KEYS_MAX} keys already: remove one that it no longer signs with`);
  if (outcome.refusal === 'partner ID in use')
    throw new UsageError(
      `another client has the partner ID ${outcome.partnerId}: give one with client snap --partner-id`,
    );
  throw new UsageError(`X-PARTNER-ID has at most 36 characters, so ${id} needs another one: client snap --partner-id`);
}

function describe(client: SnapClientRecord): string {
  const { clientId, partnerId, externalIds, bodyHash, clockSkewSeconds, publicKeys, secretSealed } = client;
  const keys = publicKeys.length === 0 ? 'none' : publicKeys.map(({ keyId }) => keyId).join(' ');
  const former = formerSecretUntil(client);
  return [
    `SNAP of ${clientId}:`,
    `partner-id    ${partnerId}`,
    `external-ids  ${externalIds}`,
    `body-hash     ${bodyHash}`,
    `clock-skew    ${clockSkewSeconds}`,
    `keys          ${keys}`,
    `secret        ${secretSealed === null ? 'none' : 'set'}`,
    ...(former === null ? [] : [`former secret valid until ${former}`]),
  ].join('\n');
}
