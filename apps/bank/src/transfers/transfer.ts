/** Transfer to an account of this bank (SNAP BI, service 17) or of another one (service 18). */
export const TRANSFER_SERVICES = ['17', '18'] as const;

export type TransferService = (typeof TRANSFER_SERVICES)[number];

/** Money as SNAP BI writes it, such as `{ value: '10000.00', currency: 'IDR' }`. */
export interface Amount {
  readonly value: string;
  readonly currency: string;
}

/** What the partner asks for. The texts are kept as they came. */
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

/** An order that the bank has taken. What becomes of it follows from the account number and the time alone. */
export interface Transfer extends TransferOrder {
  /** The bank's reference. */
  readonly referenceNo: string;
  /** By the clock of transfers, in milliseconds since 1970. */
  readonly acceptedAtMs: number;
}
