import { parseUpdate } from '../../apps/server/src/feed/parse-update.ts';
import type { Database } from '../../apps/server/src/postgres/database.ts';
import type { AppliedUpdate } from '../../apps/server/src/transactions/decide.ts';
import {
  createTransactionUpdater,
  type TransactionUpdaterDependencies,
} from '../../apps/server/src/transactions/transaction-updater.ts';
import { statusUpdate, testBanks } from '../support/service.ts';

export type Message = Readonly<Record<string, unknown>>;

/** An updater that was never wrong. Counts its database transactions: one that was wrong is repeated. */
export function createFreshUpdater(
  database: Database,
  versionFloor = 0,
  options: Pick<TransactionUpdaterDependencies, 'pause'> = {},
) {
  let attempts = 0;
  const updater = createTransactionUpdater({
    database: {
      ...database,
      transaction(work, options) {
        attempts += 1;
        return database.transaction(work, options);
      },
    },
    expectedMs: () => 1_800_000,
    firstInquiryMs: 5_000,
    now: Date.now,
    versionFloor: () => versionFloor,
    ...options,
  });
  return {
    async apply(...messages: readonly Message[]): Promise<{ applied: AppliedUpdate[]; attempts: number }> {
      const earlier = attempts;
      const applied = await updater.apply(
        messages.map((message, index) => ({
          line: index + 1,
          source: 'core',
          raw: JSON.stringify(message),
          update: parseUpdate(message, testBanks),
        })),
      );
      return { applied, attempts: attempts - earlier };
    },
    markOverdue: (now: Date) => updater.markOverdue(now, 1_000),
  };
}

let created = 0;
export const newId = (): string => `TE${String((created += 1)).padStart(10, '0')}`;

// The service would mark older transactions overdue.
export const CREATED_AT = new Date().toISOString();
export const PROCESSED_AT = new Date(Date.parse(CREATED_AT) + 5_000).toISOString();

/** The first message of a transaction and its final one, which say the same of it. */
export function messagesOf(id: string): { first: Message; final: Message } {
  const first = statusUpdate({
    transaction_id: id,
    reference_id: `ref ${id}`,
    fee: '2500.00',
    description: 'Refund',
    created_at: CREATED_AT,
  });
  return { first, final: { ...first, status: 'SUCCESS', processed_at: PROCESSED_AT } };
}
