import { createSecretKey, type KeyObject } from 'node:crypto';
import type { BankRequest, BankResponse } from './http.ts';
import { createDailyIds, createReferenceNumbers, type DailyIds } from './identifiers.ts';
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

export interface Operation {
  /** `'no-response'` leaves the client waiting. */
  readonly handle: (bank: Bank, request: BankRequest) => BankResponse | 'no-response';
  /** The refusal of a body that is longer than this bank reads. */
  readonly bodyTooLong: BankResponse;
}

/** What the bank speaks, and how. */
export interface BankProfile {
  /** What is asked for at a path (without query), always by POST. */
  readonly findOperation: (path: string) => Operation | undefined;
  readonly unknownRoute: BankResponse;
}
