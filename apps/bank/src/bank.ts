import { createSecretKey, type KeyObject } from 'node:crypto';
import type { BankRequest, BankResponse } from './http.ts';
import { createDailyIds, createReferenceNumbers, type DailyIds } from './identifiers.ts';
import type { BankSettings } from './settings.ts';
import { createNotifier } from './snap/notifier.ts';
import { createTokens, type Tokens } from './snap/tokens.ts';
import { openTransfers, type Transfers } from './transfers/transfers.ts';

/** The settings and the state of one running bank. */
export interface Bank {
  readonly settings: BankSettings;
  readonly clientSecretKey: KeyObject;
  readonly tokens: Tokens;
  /** Identifiers of requests: X-EXTERNAL-ID of SNAP, message identifiers of ISO 20022. */
  readonly requestIds: DailyIds;
  /** Returns a `referenceNo` that is unique among the responses of this bank. */
  readonly nextReferenceNo: () => string;
  readonly transfers: Transfers;
  /** The real time, in milliseconds since 1970. */
  readonly now: () => number;
  /** Closes the journal and cancels scheduled notifications and running deliveries. */
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
  /** `'no-response'` keeps the connection open and never responds. */
  readonly handle: (bank: Bank, request: BankRequest) => BankResponse | 'no-response';
  /** The response to a body over `BODY_BYTES_MAX`. */
  readonly bodyTooLong: BankResponse;
}

/** The protocol of a bank: its paths and how it handles requests to them. */
export interface BankProfile {
  /** The operation at a path (without query). Every operation is a POST. */
  readonly findOperation: (path: string) => Operation | undefined;
  readonly unknownRoute: BankResponse;
}
