import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MIGRATIONS = 'apps/server/src/postgres/migrations/';

export const NEXT_VERSION = '99.0.0';
export const NEXT_MIGRATION = '9999_next_release.sql';

/** What a release may do to the schema while the release before it runs: it only adds. */
const EXPANDING_SQL = `
create table tiba.settlement_batches (
  batch_id text primary key,
  client_id text collate "C" not null references tiba.clients (client_id),
  created_at timestamptz not null default now()
);
alter table tiba.transactions add column settlement_batch text;
alter table tiba.callback_outbox add column priority smallint not null default 0;
create index transactions_settlement_batch_index on tiba.transactions (client_id, settlement_batch)
 where settlement_batch is not null;
`;

/** The release after this one, as a program of its own. */
export interface NextRelease {
  /** The path of its main.ts. */
  readonly main: string;
  readonly migrations: URL;
  remove(): Promise<void>;
}

/**
 * Makes release N + 1 out of this program, which is N: another version, and a schema that was added to. When there is a
 * release, its tag takes the place of N, and this program that of N + 1.
 */
export async function createNextRelease(): Promise<NextRelease> {
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-next-release-'));
  await cp(path.join(ROOT, 'apps'), path.join(directory, 'apps'), { recursive: true });
  const packageJson = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as Record<string, unknown>;
  await writeFile(path.join(directory, 'package.json'), JSON.stringify({ ...packageJson, version: NEXT_VERSION }));
  await symlink(path.join(ROOT, 'node_modules'), path.join(directory, 'node_modules'));
  const migrations = path.join(directory, MIGRATIONS);
  const newest = (await readdir(migrations))
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .at(-1);
  await writeFile(path.join(migrations, NEXT_MIGRATION), `-- runs with: ${newest}\n${EXPANDING_SQL}`);
  return {
    main: path.join(directory, 'apps/server/src/main.ts'),
    migrations: pathToFileURL(migrations),
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}
