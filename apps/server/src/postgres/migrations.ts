import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { StartError } from '../lib/start-error.ts';

export const MIGRATIONS_DIRECTORY = new URL('migrations/', import.meta.url);

/** A file of `migrations/`. */
export interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly sha256: string;
  /**
   * The oldest migration that a program must know to run on a database with this one: the file's first line says so. A
   * migration that only adds names the one before it, so that release N runs beside N + 1; what it replaces is removed
   * a release later.
   */
  readonly runsWith: string;
}

const FIRST_LINE = /^-- runs with: (\d{4}_[a-z0-9_]+\.sql)$/m;

/** In the order in which they apply. @throws Error when a file does not say which programs run with it. */
export async function readMigrations(directory: URL): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, directory), 'utf8');
      const runsWith = FIRST_LINE.exec(sql.split('\n', 1)[0] ?? '')?.[1];
      if (runsWith === undefined || runsWith > name) {
        throw new Error(`the first line of ${name} must be: -- runs with: <the oldest migration a program must know>`);
      }
      return { name, sql, sha256: createHash('sha256').update(sql).digest('hex'), runsWith };
    }),
  );
}

/** A comment, a text between quotes, the end of a command, or what has none of them. */
const PART = /--[^\n]*|\/\*[^]*?\*\/|'[^']*'|"[^"]*"|\$(\w*)\$[^]*?\$\1\$|;|[^-/'"$;]+|[^]/g;

/**
 * The commands of a migration. They are sent one by one: of several in one query, Citus sends the whole query to each
 * node when one of them is a `create index`, and the nodes refuse it.
 */
export function commandsOf(sql: string): string[] {
  const commands = [''];
  for (const [part] of sql.matchAll(PART)) {
    if (part === ';') commands.push('');
    else commands.push(`${commands.pop()}${/^(?:--|\/\*)/.test(part) ? ' ' : part}`);
  }
  return commands.map((command) => command.trim()).filter((command) => command !== '');
}

/** A row of tiba.migrations. */
export interface AppliedMigration {
  readonly name: string;
  readonly sha256: string;
  readonly runsWith: string;
}

/** What a program finds on a database, by the migrations that it knows itself. */
export type SchemaState =
  | { readonly kind: 'current' }
  /** Migrations of this program are missing. */
  | { readonly kind: 'older'; readonly missing: readonly Migration[] }
  /** A newer program has migrated, in a way that this program can run with. */
  | { readonly kind: 'newer'; readonly unknown: readonly string[] };

/** @throws StartError when an applied file was changed afterwards, or when this program is too old for the database. */
export function compareSchema(known: readonly Migration[], applied: readonly AppliedMigration[]): SchemaState {
  const appliedByName = new Map(applied.map((each) => [each.name, each]));
  const missing: Migration[] = [];
  for (const migration of known) {
    const found = appliedByName.get(migration.name);
    appliedByName.delete(migration.name);
    if (found === undefined) missing.push(migration);
    else if (found.sha256 !== migration.sha256)
      throw new StartError(`migration ${migration.name} was changed after it had been applied`);
  }
  const unknown = [...appliedByName.values()];
  const newest = known.at(-1)?.name ?? '';
  const tooNew = unknown.filter(({ runsWith }) => runsWith > newest).map(({ name }) => name);
  if (tooNew.length > 0) {
    throw new StartError(
      `the database is newer than this program, which cannot run with ${tooNew.join(', ')}: start the newer version`,
    );
  }
  if (missing.length > 0) return { kind: 'older', missing };
  return unknown.length === 0 ? { kind: 'current' } : { kind: 'newer', unknown: unknown.map(({ name }) => name) };
}
