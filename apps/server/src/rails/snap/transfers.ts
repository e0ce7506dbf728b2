import { createSnapExchange } from './exchange.ts';
import { profileOf, type SnapSettings } from './settings.ts';
import {
  isSignedBy,
  readNotification,
  type SignedNotification,
  type TransferNotification,
} from './transfer-notification.ts';
import { type Acceptance, createTransferOrders, type TransferOrder } from './transfer-order.ts';

/** What a disbursement core does with its bank: it orders transfers, and hears what became of them. */
export interface SnapTransfers {
  /** Never rejects. */
  order(order: TransferOrder): Promise<Acceptance>;
  /** `forged` when the bank did not sign it; null for what says nothing final. */
  read(notification: SignedNotification): TransferNotification | 'forged' | null;
  close(): Promise<void>;
}

const ORDER_TIMEOUT_MS = 4_000;

export function createSnapTransfers(settings: SnapSettings): SnapTransfers {
  const profile = profileOf(settings);
  const { transferIntrabank, transferInterbank } = profile.services;
  const exchange = createSnapExchange(settings);
  const orders = createTransferOrders(profile);
  return {
    order(order) {
      const intrabank = order.bank.bic === settings.ownBank ? transferIntrabank : null;
      return exchange
        .send(orders, (intrabank ?? transferInterbank).path, order, AbortSignal.timeout(ORDER_TIMEOUT_MS))
        .catch((): Acceptance => ({ kind: 'unknown' }));
    },
    read: (notification) =>
      isSignedBy(settings.clientSecret, notification) ? readNotification(notification.body) : 'forged',
    close: () => exchange.close(),
  };
}
