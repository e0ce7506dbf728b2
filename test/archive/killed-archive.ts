// Archives what is due, and kills itself at one step: before or after one of its uses of the database.

import pino from 'pino';
import { archiveTransactions } from '../../apps/server/src/archive/archive-transactions.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { GENEROUS_TIMEOUTS } from '../support/database.ts';
import { fail, HELD_LEASE } from './held-lease.ts';
import { stepping } from './stepping-database.ts';

/** The first message to the process. */
export interface KilledArchive {
  readonly connectionString: string;
  readonly directory: string;
  /** ISO 8601 UTC. */
  readonly before: string;
  readonly eventsMax: number;
  /** From 1; null: never. */
  readonly killAt: number | null;
}

process.once('message', (options: KilledArchive) => void archive(options));

async function archive({ connectionString, directory, before, eventsMax, killAt }: KilledArchive): Promise<void> {
  const connection = { connectionString, ...GENEROUS_TIMEOUTS };
  const database = openDatabase({ connection, connectionsMax: 1, log: pino({ level: 'silent' }) });
  let steps = 0;
  const step = (): void => {
    steps += 1;
    if (steps === killAt) process.kill(process.pid, 'SIGKILL');
  };
  await archiveTransactions({
    database: stepping(database, step),
    directory,
    before: new Date(before),
    // The lease of a killed process would delay the next one.
    lease: HELD_LEASE,
    onClientError: fail,
    signal: new AbortController().signal,
    eventsMax,
  });
  await database.close();
  process.disconnect?.();
}
