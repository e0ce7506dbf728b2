import { createSecretKey, type KeyObject } from 'node:crypto';
import { createDailyIds, type DailyIds } from './daily-ids.ts';
import { createReferenceNumbers } from './reference-numbers.ts';
import type { BankSettings } from './settings.ts';
import { createNotifier } from './snap/notifier.ts';
import { createTokens, type Tokens } from './snap/tokens.ts';
import { openTransfers, type Transfers } from './transfers/transfers.ts';

/** Everything that one running bank knows and remembers. */
export interface Bank {
  readonly settings: BankSettings;
  readonly clientSecretKey: KeyObject;
  readonly tokens: Tokens;
  /** Of requests: SNAP's X-EXTERNAL-ID, ISO 20022's message identifiers. */
  readonly requestIds: DailyIds;
  /** A `referenceNo` that no other answer of this bank carries. */
  readonly nextReferenceNo: () => string;
  readonly transfers: Transfers;
  /** The real time, in milliseconds since 1970. */
  readonly now: () => number;
  /** Stops everything that would still happen by itself. */
  close(): Promise<void>;
}

/** Rejects with a `JournalError` when the journal cannot be used. */
export async function createBank(settings: BankSettings, now: () => number): Promise<Bank> {
  const { notifyUrl, partnerId, channelId } = settings;
  const clientSecretKey = createSecretKey(settings.clientSecret, 'utf8');
  const nextReferenceNo = createReferenceNumbers();
  const notifier =
    notifyUrl === null ? null : createNotifier(notifyUrl, { partnerId, channelId, secretKey: clientSecretKey }, now);
  const transfers = await openTransfers({
    journalFile: settings.journalFile,
    realNow: now,
    nextReferenceNo,
    notify: notifier?.notify ?? null,
  });
  return {
    settings,
    clientSecretKey,
    tokens: createTokens(settings.tokenLifetimeSeconds * 1000),
    requestIds: createDailyIds(),
    nextReferenceNo,
    transfers,
    now,
    async close() {
      transfers.close();
      await notifier?.close();
    },
  };
}
