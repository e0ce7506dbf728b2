// Restores from the archive or erases a person, and kills itself at one step: at a use of the database.

import pino from 'pino';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { GENEROUS_TIMEOUTS } from '../support/database.ts';
import { type CommandRun, erase, restore } from './commands.ts';
import { stepping } from './stepping-database.ts';

/** The first message to the process. */
export interface KilledCommand extends Pick<CommandRun, 'directory'> {
  readonly connectionString: string;
  /** Restores the transactions of this client. */
  readonly restoredClient: string | null;
  /** Erases the holder of this account. */
  readonly erasedAccount: string | null;
  /** From 1. */
  readonly killAt: number;
}

process.once('message', (options: KilledCommand) => void run(options));

async function run(options: KilledCommand): Promise<void> {
  const { connectionString, directory, restoredClient, erasedAccount, killAt } = options;
  const connection = { connectionString, ...GENEROUS_TIMEOUTS };
  const database = openDatabase({ connection, connectionsMax: 1, log: pino({ level: 'silent' }) });
  let steps = 0;
  const step = (): void => {
    steps += 1;
    if (steps === killAt) process.kill(process.pid, 'SIGKILL');
  };
  const stepped = { database: stepping(database, step), directory };
  if (restoredClient !== null) await restore(stepped, restoredClient);
  if (erasedAccount !== null) await erase(stepped, erasedAccount);
  await database.close();
  process.disconnect?.();
}
