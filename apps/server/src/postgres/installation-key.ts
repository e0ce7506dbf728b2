import type { Database } from './database.ts';
import { DEAD_AFTER_SECONDS } from './processes.ts';

/** The key that seals secrets now, and the data key, sealed. */
export interface InstallationKey {
  readonly secretKeyId: string;
  readonly dataKeySealed: Buffer;
}

/**
 * Null for a database that no service has used yet. Waits for a change of the key in another transaction.
 */
export async function findInstallationKey(database: Database): Promise<InstallationKey | null> {
  const rows = await database.query<{ secretKeyId: string | null; dataKeySealed: Buffer | null }>(
    `select secret_key_id as "secretKeyId", data_key_sealed as "dataKeySealed" from tiba.installation for share`,
  );
  const { secretKeyId = null, dataKeySealed = null } = rows[0] ?? {};
  return secretKeyId === null || dataKeySealed === null ? null : { secretKeyId, dataKeySealed };
}

/** Stores the key of a new installation, unless another process has done so. */
export async function insertInstallationKey(database: Database, key: InstallationKey): Promise<void> {
  await database.query(
    'update tiba.installation set secret_key_id = $1, data_key_sealed = $2 where secret_key_id is null',
    [key.secretKeyId, key.dataKeySealed],
  );
}

/**
 * Makes this the key that seals, as soon as it is the TIBA_SECRET_KEY of all live processes: a process that does not
 * have it could not open what others seal. Returns the key that seals now, and how many processes have another one.
 */
export function switchInstallationKey(
  database: Database,
  keyId: string,
): Promise<{ readonly secretKeyId: string; readonly otherProcesses: number }> {
  return database.transaction(async (query) => {
    // A process that starts registers itself, then reads this row: one of the two transactions sees the other.
    const installation = await query<{ secret_key_id: string }>(
      'select secret_key_id from tiba.installation for update',
    );
    const secretKeyId = installation.rows[0]?.secret_key_id ?? keyId;
    const others = await query<{ count: number }>(
      `select count(*)::integer as count from tiba.processes
        where heartbeat_at >= now() - interval '${DEAD_AFTER_SECONDS} seconds' and secret_key_id is distinct from $1`,
      [keyId],
    );
    const otherProcesses = others.rows[0]?.count ?? 0;
    if (secretKeyId === keyId || otherProcesses > 0) return { secretKeyId, otherProcesses };
    await query('update tiba.installation set secret_key_id = $1', [keyId]);
    return { secretKeyId: keyId, otherProcesses };
  });
}
