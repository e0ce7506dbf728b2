import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Feed } from '../../apps/server/src/feed/feed.ts';
import type { Database } from '../../apps/server/src/postgres/database.ts';
import type { BenchContext } from '../bench-context.ts';

/** The code that a feed is measured with: this one, or that of another clone. */
export interface Code {
  openDatabase(connectionString: string): Database;
  migrate(connectionString: string): Promise<void>;
  createFeed(database: Database): Feed;
}

export const THIS_CODE = fileURLToPath(new URL('../../', import.meta.url));

/** The modules of a clone. Those of an older one have the same names as far as a feed needs them. */
export async function loadCode(root: string, { log }: Pick<BenchContext, 'log'>): Promise<Code> {
  const load = (file: string): Promise<unknown> => import(pathToFileURL(path.join(root, 'apps/server/src', file)).href);
  const { openDatabase } = (await load(
    'postgres/database.ts',
  )) as typeof import('../../apps/server/src/postgres/database.ts');
  // An older clone has jobs, and migrates them.
  const { migrate, migrateJobs } = (await load(
    'postgres/migrate.ts',
  )) as typeof import('../../apps/server/src/postgres/migrate.ts') & {
    readonly migrateJobs?: (connection: { connectionString: string }) => Promise<void>;
  };
  const { createTransactionUpdater } = (await load(
    'transactions/transaction-updater.ts',
  )) as typeof import('../../apps/server/src/transactions/transaction-updater.ts');
  const { createFeed } = (await load('feed/feed.ts')) as typeof import('../../apps/server/src/feed/feed.ts');
  const { createBankDirectory } = (await load(
    'domain/bank.ts',
  )) as typeof import('../../apps/server/src/domain/bank.ts');
  const { default: bankEntries } = await import('../../apps/server/src/domain/banks.json', { with: { type: 'json' } });

  return {
    openDatabase: (connectionString) => openDatabase({ connection: { connectionString }, connectionsMax: 1, log }),
    async migrate(connectionString) {
      const database = openDatabase({ connection: { connectionString }, connectionsMax: 1, log });
      try {
        await migrate(database);
      } finally {
        await database.close();
      }
      await migrateJobs?.({ connectionString });
    },
    createFeed(database) {
      const transactionUpdater = createTransactionUpdater({
        database,
        expectedMs: () => 1_800_000,
        firstInquiryMs: 5_000,
        now: Date.now,
        versionFloor: () => 0,
      });
      const banks = createBankDirectory(bankEntries);
      return createFeed({ transactionUpdater, banks, clientExists: () => true, onApplied() {}, causes: null });
    },
  };
}
