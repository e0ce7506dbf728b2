import { singleFlight } from '../lib/single-flight.ts';
import type { Database } from '../postgres/database.ts';
import { findLatestRestore, type Restore, versionFloor } from '../postgres/restores.ts';

/** The latest restore of a backup, in memory. */
export interface LatestRestore {
  /** Null when there was none. */
  current(): Restore | null;
  /** Later versions of transactions are greater. 0 when there was no restore. */
  versionFloor(): number;
  reload(): Promise<void>;
}

export function createLatestRestore(database: Database): LatestRestore {
  let latest: Restore | null = null;
  return {
    current: () => latest,
    versionFloor: () => (latest === null ? 0 : versionFloor(latest.epoch)),
    reload: singleFlight(async () => {
      latest = await findLatestRestore(database);
    }),
  };
}
