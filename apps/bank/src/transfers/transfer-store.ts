import type { Transfer } from './transfer.ts';

/** The references by which a partner looks up a transfer; an empty text if a reference is not given. */
export interface TransferReferences {
  readonly partnerReferenceNo: string;
  readonly referenceNo: string;
}

/** The transfers that the bank retains. Times are in milliseconds since 1970. */
export interface TransferStore {
  /** Transfers must be added in the order of their acceptance. */
  add(transfer: Transfer, nowMs: number): void;
  has(partnerReferenceNo: string, nowMs: number): boolean;
  /** The transfer that has every given reference, or null. */
  find(references: TransferReferences, nowMs: number): Transfer | null;
  all(): Iterable<Transfer>;
}

// The period in which BCA answers status inquiries about a transfer.
const RETENTION_MS = 31 * 24 * 60 * 60 * 1000;

// Only a load test has more; the limit keeps it from exhausting memory.
const TRANSFERS_MAX = 500_000;

export function createTransferStore(transfersMax = TRANSFERS_MAX): TransferStore {
  // Insertion order is the order of acceptance: the transfers to delete come first.
  const byPartnerReference = new Map<string, Transfer>();
  const byReference = new Map<string, Transfer>();

  function deleteOld(nowMs: number, countMax: number): void {
    for (const transfer of byReference.values()) {
      if (nowMs - transfer.acceptedAtMs < RETENTION_MS && byReference.size <= countMax) return;
      byReference.delete(transfer.referenceNo);
      byPartnerReference.delete(transfer.partnerReferenceNo);
    }
  }

  return {
    add(transfer, nowMs) {
      deleteOld(nowMs, transfersMax - 1);
      byPartnerReference.set(transfer.partnerReferenceNo, transfer);
      byReference.set(transfer.referenceNo, transfer);
    },
    has(partnerReferenceNo, nowMs) {
      deleteOld(nowMs, transfersMax);
      return byPartnerReference.has(partnerReferenceNo);
    },
    find({ partnerReferenceNo, referenceNo }, nowMs) {
      deleteOld(nowMs, transfersMax);
      const transfer = byPartnerReference.get(partnerReferenceNo) ?? byReference.get(referenceNo) ?? null;
      if (transfer === null) return null;
      const matches =
        isOrAbsent(partnerReferenceNo, transfer.partnerReferenceNo) && isOrAbsent(referenceNo, transfer.referenceNo);
      return matches ? transfer : null;
    },
    all: () => byReference.values(),
  };
}

function isOrAbsent(given: string, actual: string): boolean {
  return given === '' || given === actual;
}
