/** Transfer to an account at this bank (SNAP BI, service 17) or at any bank (service 18). */
export const TRANSFER_SERVICES = ['17', '18'] as const;

export type TransferService = (typeof TRANSFER_SERVICES)[number];

/** Money as SNAP BI writes it, such as `{ value: '10000.00', currency: 'IDR' }`. */
export interface Amount {
  readonly value: string;
  readonly currency: string;
}

/** The partner's order. The texts are stored as received. */
export interface TransferOrder {
  readonly service: TransferService;
  /** The partner's own reference: no two transfers share one. */
  readonly partnerReferenceNo: string;
  readonly amount: Amount;
  readonly beneficiaryAccountNo: string;
  /** A three-digit clearing code or a BIC. */
  readonly beneficiaryBankCode: string;
  readonly sourceAccountNo: string;
  readonly transactionDate: string;
}

/** An order that the bank accepted. Its status depends on the account number and the time only. */
export interface Transfer extends TransferOrder {
  /** The bank's reference. */
  readonly referenceNo: string;
  /** By the clock of transfers, in milliseconds since 1970. */
  readonly acceptedAtMs: number;
}
