import { randomBytes } from 'node:crypto';
import { type Repetition, repeat } from '../lib/repeat.ts';
import { StartError } from '../lib/start-error.ts';
import { createFailureLog } from '../observability/failure-log.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type Database, DatabaseUnavailable } from '../postgres/database.ts';
import { findInstallationKey, insertInstallationKey, switchInstallationKey } from '../postgres/installation-key.ts';
import { countSecretsByKey, findSecretsToReseal, replaceSecrets } from '../postgres/sealed-secrets.ts';
import type { Keyring } from './secrets.ts';

/**
 * TIBA_SECRET_KEY and its replacement (docs/decisions/0040-secret-key.md). The database says which key seals. While two
 * keys are set, all processes can open both; when the new one is everyone's, they seal everything again with it.
 */

const DATA_KEY_BYTES = 32;
const ADVICE =
  'set the same TIBA_SECRET_KEY for all processes; while it is replaced, also TIBA_SECRET_KEY_PREVIOUS, until ' +
  'npm run manage -- secret-key says that it can go';

/**
 * Opens the data key, from which the keys of account hashes and list cursors are derived: it stays the same when
 * TIBA_SECRET_KEY changes. From here on the keyring seals with the installation's key.
 * @throws StartError when something is sealed with a key that the keyring lacks
 */
export async function openDataKey(database: Database, keyring: Keyring): Promise<Buffer> {
  await requireKnownKeys(database, keyring).catch((error: unknown) => {
    // While a node of a distributed database is away, the secrets there cannot be looked at, and others must not wait.
    if (!(database.distributed && error instanceof DatabaseUnavailable)) throw error;
  });
  if ((await findInstallationKey(database)) === null) {
    const dataKeySealed = keyring.seal(randomBytes(DATA_KEY_BYTES).toString('base64'));
    await insertInstallationKey(database, { secretKeyId: keyring.currentKeyId, dataKeySealed });
  }
  const key = await findInstallationKey(database);
  if (key === null) throw new Error('the installation has no data key');
  useKey(keyring, key.secretKeyId);
  return Buffer.from(keyring.open(key.dataKeySealed), 'base64');
}

/**
 * Seals with the installation's key from now on. Call it also when this process is registered: then no other process
 * switches to a key that this one lacks.
 * @throws StartError when the keyring lacks the key
 */
export async function useInstallationKey(database: Database, keyring: Keyring): Promise<void> {
  const key = await findInstallationKey(database);
  if (key !== null) useKey(keyring, key.secretKeyId);
}

function useKey(keyring: Keyring, keyId: string): void {
  if (!keyring.keyIds.includes(keyId)) throw wrongKey(keyring, `the database is sealed with key ${keyId}`);
  keyring.sealWith(keyId);
}

/** @throws StartError when a secret is sealed with a key that the keyring lacks */
export async function requireKnownKeys(database: Database, keyring: Keyring): Promise<void> {
  for (const [keyId, secrets] of await countSecretsByKey(database)) {
    if (!keyring.keyIds.includes(keyId)) throw wrongKey(keyring, `${secrets} of them are sealed with key ${keyId}`);
  }
}

const wrongKey = (keyring: Keyring, found: string): StartError =>
  new StartError(
    `TIBA_SECRET_KEY is not the key that sealed the secrets in the database (${found}, and this process has ` +
      `${keyring.keyIds.join(' and ')}): ${ADVICE}`,
  );

export interface KeyReplacementDependencies {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'secretsToReseal'>;
}

const INTERVAL_MS = 2_000;
/** Few enough that a statement ends at once. */
const BATCH_MAX = 100;

/**
 * While TIBA_SECRET_KEY_PREVIOUS is set: switches to TIBA_SECRET_KEY as soon as all processes have it, and seals again
 * in batches what is sealed with another key. Any number of processes may do so at the same time, and a process that is
 * killed leaves nothing half done.
 */
export function startKeyReplacement({ database, keyring, log, metrics }: KeyReplacementDependencies): Repetition {
  const { currentKeyId } = keyring;
  let reported = '';
  const stopping = new AbortController();

  function report(state: string, write: () => void): void {
    if (reported !== state) write();
    reported = state;
  }

  async function replaceKey(): Promise<void> {
    const { secretKeyId, otherProcesses } = await switchInstallationKey(database, currentKeyId);
    keyring.sealWith(secretKeyId);
    if (secretKeyId !== currentKeyId) {
      metrics.secretsToReseal.set(await countOthers(database, currentKeyId));
      report('waiting', () =>
        log.info({ otherProcesses }, 'secret key is not replaced yet: other processes lack it; will retry'),
      );
      return;
    }
    const resealed = await resealAll();
    const left = await countOthers(database, currentKeyId);
    metrics.secretsToReseal.set(left);
    if (left > 0) return;
    report('done', () =>
      log.info({ resealed, keyId: currentKeyId }, 'secret key is replaced: TIBA_SECRET_KEY_PREVIOUS can be removed'),
    );
  }

  async function resealAll(): Promise<number> {
    let resealed = 0;
    while (!stopping.signal.aborted) {
      const found = await findSecretsToReseal(database, currentKeyId, BATCH_MAX);
      if (found === null) return resealed;
      const secrets = found.sealed.map((before) => ({ before, after: keyring.seal(keyring.open(before)) }));
      resealed += await replaceSecrets(database, found.column, secrets);
      metrics.secretsToReseal.set(await countOthers(database, currentKeyId));
    }
    return resealed;
  }

  const loop = repeat(INTERVAL_MS, replaceKey, createFailureLog(log, 'replacing the secret key failed; will retry'));
  loop.now();
  return {
    now: loop.now,
    stop() {
      stopping.abort();
      return loop.stop();
    },
  };
}

async function countOthers(database: Database, keyId: string): Promise<number> {
  const counts = await countSecretsByKey(database);
  counts.delete(keyId);
  return [...counts.values()].reduce((sum, each) => sum + each, 0);
}
