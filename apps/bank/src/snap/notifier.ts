import type { KeyObject } from 'node:crypto';
import { createReferenceNumbers } from '../identifiers.ts';
import type { BankSettings } from '../settings.ts';
import { formatJakartaTime } from '../time.ts';
import type { TransferStatus } from '../transfers/scenario.ts';
import type { Transfer } from '../transfers/transfer.ts';
import { createDelivery, type Message } from './notification-delivery.ts';
import { symmetricSignature } from './signature.ts';
import { describeTransfer } from './transfer-description.ts';

export interface Notifier {
  /** Notifies the partner of a transfer's current status. */
  notify(transfer: Transfer, status: TransferStatus): void;
  /** Cancels all running deliveries. */
  close(): Promise<void>;
}

/** The partner that receives the notifications. */
type Recipient = Pick<BankSettings, 'partnerId' | 'channelId'> & { readonly secretKey: KeyObject };

/**
 * Sends notifications of transfers. SNAP BI defines none for services 17 and 18: these have the format of services 75
 * and
 * 76. The bank has no access token from the partner, so the signature covers an empty one. `now` is the real time.
 */
export function createNotifier(url: URL, recipient: Recipient, now: () => number): Notifier {
  const delivery = createDelivery(url);
  const nextExternalId = createReferenceNumbers();
  const endpoint = url.pathname + url.search;

  function createMessage(body: string): Message {
    const timestamp = formatJakartaTime(now());
    const signed = { endpoint, accessToken: '', body: Buffer.from(body), timestamp };
    return {
      body,
      headers: {
        'Content-Type': 'application/json',
        'X-TIMESTAMP': timestamp,
        'X-SIGNATURE': symmetricSignature(recipient.secretKey, signed),
        'X-PARTNER-ID': recipient.partnerId,
        'X-EXTERNAL-ID': nextExternalId(),
        'CHANNEL-ID': recipient.channelId,
      },
    };
  }

  return {
    notify(transfer, status) {
      const body = JSON.stringify(describeTransfer(transfer, status));
      delivery.send(transfer.referenceNo, () => createMessage(body));
    },
    close: () => delivery.close(),
  };
}
