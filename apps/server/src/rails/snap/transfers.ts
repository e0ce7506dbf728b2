import { createSnapExchange } from './exchange.ts';
import { type SnapSettings, snapEndpoints } from './settings.ts';
import {
  isSignedBy,
  readNotification,
  type SignedNotification,
  type TransferNotification,
} from './transfer-notification.ts';
import { type Acceptance, TRANSFER, type TransferOrder } from './transfer-order.ts';

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
  const endpoints = snapEndpoints(settings.baseUrl);
  const exchange = createSnapExchange(settings, endpoints);
  return {
    order(order) {
      const path = order.bank.bic === settings.ownBank ? endpoints.transferIntrabank : endpoints.transferInterbank;
      return exchange
        .ask(TRANSFER, path, order, AbortSignal.timeout(ORDER_TIMEOUT_MS))
        .catch((): Acceptance => ({ kind: 'unknown' }));
    },
    read: (notification) =>
      isSignedBy(settings.clientSecret, notification) ? readNotification(notification.body) : 'forged',
    close: () => exchange.close(),
  };
}
