import { readFile } from 'node:fs/promises';
import { generateSecret } from '../auth/secrets.ts';
import { InvalidPublicKey, readSnapPublicKey } from '../auth/snap-credentials.ts';
import { findAllClients } from '../postgres/clients.ts';
import type { Database } from '../postgres/database.ts';
import {
  BODY_HASHES,
  deleteSnapClient,
  deleteSnapPublicKey,
  EXTERNAL_ID_RULES,
  findAllSnapClients,
  insertSnapPublicKey,
  replaceSnapSecret,
  type SnapClientOptions,
  type SnapClientRecord,
  setSnapClient,
} from '../postgres/snap-clients.ts';
import { type Command, clientNotFound, type Options, UsageError } from './manage-command.ts';
import { openKeyring } from './manage-keyring.ts';

/** ASPI, X-PARTNER-ID. */
const PARTNER_ID = /^[!-~]{1,36}$/;
const PUBLIC_KEYS_MAX = 10;
const FORMER_HOURS = '24';
const CLOCK_SKEW_SECONDS_MAX = 86_400;

/** What the operator can do to a client's use of the SNAP listener. */
export const SNAP_COMMANDS: Readonly<Record<string, Command>> = {
  'client snap': {
    summary: 'let the client use the SNAP listener, or change how it does',
    description: 'Without options the present options and keys are shown.',
    options: ['partner-id', 'external-ids', 'body-hash', 'clock-skew'],
    async run(database, id, options) {
      const changes = readOptions(options);
      if (Object.keys(changes).length > 0) await allowSnap(database, id, changes);
      const client = (await findAllSnapClients(database)).find(({ clientId }) => clientId === id);
      if (client !== undefined) return { document: snapDocument(client), text: describe(client) };
      await requireClient(database, id);
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
      const { publicKeys } = await allowSnap(database, id, {});
      if (publicKeys.length >= PUBLIC_KEYS_MAX) {
        throw new UsageError(`${id} has ${PUBLIC_KEYS_MAX} keys already: remove one that it no longer signs with`);
      }
      const isNew = await insertSnapPublicKey(database, id, key);
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
    async run(database, id, { 'former-hours': formerHours = FORMER_HOURS }, settings) {
      if (!/^\d{1,3}$/.test(formerHours)) throw new UsageError('--former-hours takes a whole number from 0 to 999');
      await requireClient(database, id);
      const seal = await openKeyring(database, settings);
      await allowSnap(database, id, {});
      const secret = generateSecret();
      await replaceSnapSecret(database, id, { secretSealed: seal.seal(secret), formerHours: Number(formerHours) });
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
  if (partnerId !== undefined && !PARTNER_ID.test(partnerId)) {
    throw new UsageError('--partner-id takes 1 to 36 printable ASCII characters without spaces');
  }
  const clockSkewSeconds = Number(skew);
  const isSkew = /^\d{1,5}$/.test(skew ?? '') && clockSkewSeconds >= 1 && clockSkewSeconds <= CLOCK_SKEW_SECONDS_MAX;
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

/** Lets the client use the SNAP listener. */
async function allowSnap(database: Database, id: string, changes: SnapClientOptions): Promise<SnapClientRecord> {
  await requireClient(database, id);
  const known = (await findAllSnapClients(database)).find(({ clientId }) => clientId === id);
  const partnerId = changes.partnerId ?? known?.partnerId ?? id;
  if (!PARTNER_ID.test(partnerId)) {
    throw new UsageError(
      `X-PARTNER-ID has at most 36 characters, so ${id} needs another one: client snap --partner-id`,
    );
  }
  if (!(await setSnapClient(database, id, { ...changes, partnerId }))) {
    throw new UsageError(`another client has the partner ID ${partnerId}: give one with client snap --partner-id`);
  }
  const client = (await findAllSnapClients(database)).find(({ clientId }) => clientId === id);
  if (client === undefined) throw clientNotFound(id);
  return client;
}

const snapDocument = (client: SnapClientRecord) => ({
  client_id: client.clientId,
  snap: {
    partner_id: client.partnerId,
    external_ids: client.externalIds,
    body_hash: client.bodyHash,
    clock_skew_seconds: client.clockSkewSeconds,
    key_ids: client.publicKeys.map(({ keyId }) => keyId),
    has_secret: client.secretSealed !== null,
    former_secret_until: isFormerValid(client) ? new Date(client.formerSecretUntilMs).toISOString() : null,
  },
});

const isFormerValid = ({ formerSecretUntilMs }: SnapClientRecord): boolean => formerSecretUntilMs > Date.now();

function describe(client: SnapClientRecord): string {
  const { clientId, partnerId, externalIds, bodyHash, clockSkewSeconds, publicKeys, secretSealed } = client;
  const keys = publicKeys.length === 0 ? 'none' : publicKeys.map(({ keyId }) => keyId).join(' ');
  const former = isFormerValid(client) ? new Date(client.formerSecretUntilMs).toISOString() : null;
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
