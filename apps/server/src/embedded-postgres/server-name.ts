import { createHash } from 'node:crypto';

/**
 * A short name that goes with a data directory (its real path). It is in the title of every process of the server and in
 * the name of its socket directory, so what a killed Tiba left can be told from everything else.
 */
export function serverNameOf(dataDirectory: string): string {
  return `tiba-postgres-${createHash('sha256').update(dataDirectory).digest('hex').slice(0, 12)}`;
}
