import { type RestoreResult, restoreArchive } from '../../apps/server/src/archive/restore-archive.ts';
import { createBankDirectory } from '../../apps/server/src/domain/bank.ts';
import bankEntries from '../../apps/server/src/domain/banks.json' with { type: 'json' };
import { type ErasureResult, erasePerson } from '../../apps/server/src/personal-data/erase-person.ts';
import { createPerson, type Person } from '../../apps/server/src/personal-data/person.ts';
import type { Database } from '../../apps/server/src/postgres/database.ts';
import { HELD_LEASE } from './held-lease.ts';

/** What `manage archive restore` and `manage person erase` do, without the lease that a killed process would leave. */

export interface CommandRun {
  readonly database: Database;
  /** Of the archive. */
  readonly directory: string;
}

export const restore = ({ database, directory }: CommandRun, clientId: string): Promise<RestoreResult> =>
  restoreArchive(database, directory, { clientId, month: null }, { holdHours: 1, lease: HELD_LEASE, onFile: () => {} });

export const holderOf = (accountNumber: string): Person =>
  createPerson(accountNumber, null, { banks: createBankDirectory(bankEntries), dataKey: Buffer.alloc(32, 7) });

/** There is no legal hold. */
export const erase = (run: CommandRun, accountNumber: string): Promise<ErasureResult> =>
  erasePerson({
    ...run,
    person: holderOf(accountNumber),
    holdBefore: new Date(),
    isDryRun: false,
    lease: HELD_LEASE,
    print: () => {},
  });
