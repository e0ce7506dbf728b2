import type { Database } from './database.ts';

/** Every column that holds something sealed with TIBA_SECRET_KEY. */
const SEALED_COLUMNS = [
  { table: 'installation', column: 'data_key_sealed' },
  { table: 'signing_keys', column: 'private_jwk_sealed' },
  { table: 'callback_endpoints', column: 'secret_sealed' },
  { table: 'callback_endpoints', column: 'former_secret_sealed' },
  { table: 'snap_clients', column: 'secret_sealed' },
  { table: 'snap_clients', column: 'former_secret_sealed' },
] as const;
export type SealedColumn = (typeof SEALED_COLUMNS)[number];

/** SQL. What is sealed begins with the ID of its key: 8 bytes (auth/secrets.ts). */
const keyIdOf = (column: string): string => `encode(substr(${column}, 1, 8), 'hex')`;

/** How many secrets are sealed with which key, by the ID of the key. */
export async function countSecretsByKey(database: Database): Promise<Map<string, number>> {
  const secrets = SEALED_COLUMNS.map(
    ({ table, column }) => `select ${keyIdOf(column)} as key_id from tiba.${table} where ${column} is not null`,
  );
  const rows = await database.query<{ key_id: string; secrets: number }>(
    `select key_id, count(*)::integer as secrets from (${secrets.join(' union all ')}) s group by key_id`,
  );
  return new Map(rows.map((row) => [row.key_id, row.secrets]));
}

/** Some secrets that are sealed with another key than this; null when there are none. Reads across clients. */
export async function findSecretsToReseal(
  database: Database,
  keyId: string,
  limit: number,
): Promise<{ readonly column: SealedColumn; readonly sealed: readonly Buffer[] } | null> {
  for (const column of SEALED_COLUMNS) {
    const rows = await database.query<{ sealed: Buffer }>(
      `select ${column.column} as sealed from tiba.${column.table}
        where ${column.column} is not null and ${keyIdOf(column.column)} <> $1 limit $2`,
      [keyId, limit],
    );
    if (rows.length > 0) return { column, sealed: rows.map(({ sealed }) => sealed) };
  }
  return null;
}

export interface ResealedSecret {
  readonly before: Buffer;
  readonly after: Buffer;
}

/** Replaces secrets that are still the same; one that was changed meanwhile stays. Returns how many were replaced. */
export async function replaceSecrets(
  database: Database,
  { table, column }: SealedColumn,
  secrets: readonly ResealedSecret[],
): Promise<number> {
  const rows = await database.query(
    `update tiba.${table} t set ${column} = given.after
       from unnest($1::bytea[], $2::bytea[]) as given (before, after)
      where t.${column} = given.before returning 1`,
    [secrets.map(({ before }) => before), secrets.map(({ after }) => after)],
  );
  return rows.length;
}
