import { requireKnownKeys, useInstallationKey } from '../auth/secret-key.ts';
import { createSeal, type Keyring } from '../auth/secrets.ts';
import { type Settings, SettingsError } from '../config/config.ts';
import type { Database } from '../postgres/database.ts';

/**
 * The keys of the settings, ready to seal what the running processes can open.
 * @throws SettingsError without TIBA_SECRET_KEY; StartError when it is not the key of this database
 */
export async function openKeyring(
  database: Database,
  { secretKey, previousSecretKey }: Pick<Settings, 'secretKey' | 'previousSecretKey'>,
): Promise<Keyring> {
  if (secretKey === null) throw new SettingsError(['TIBA_SECRET_KEY is missing: set the same key as the service']);
  const keyring = createSeal(secretKey, previousSecretKey);
  await requireKnownKeys(database, keyring);
  await useInstallationKey(database, keyring);
  return keyring;
}
