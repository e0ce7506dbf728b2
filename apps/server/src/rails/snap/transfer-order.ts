import type { Bank } from '../../domain/bank.ts';
import { bankCodeOf } from './bank-code.ts';
import type { SnapService } from './exchange.ts';
import type { SnapProfile } from './profiles/profile.ts';
import { parseReply } from './reply.ts';
import { snapTimestamp } from './timestamp.ts';

/** An order to the bank, as an operator's disbursement core gives it; in the sandbox its stand-in does. */
export interface TransferOrder {
  readonly partnerReferenceNo: string;
  /** With two places. */
  readonly amount: string;
  readonly bank: Bank;
  readonly accountNumber: string;
  readonly accountName: string;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
}

/** `accepted`; `refused` for certain, with the bank's code; or nobody knows: then the bank has to be asked. */
export type Acceptance =
  | { readonly kind: 'accepted' | 'unknown' }
  | { readonly kind: 'rejected'; readonly code: string };

const SOURCE_ACCOUNT = '8880001000';

/** SNAP transfers (ASPI, services 17 and 18): within the bank, and to another one. */
export const createTransferOrders = ({ bankCode }: SnapProfile): SnapService<TransferOrder, Acceptance> => ({
  write: ({ partnerReferenceNo, amount, bank, accountNumber, accountName, createdAt }) =>
    JSON.stringify({
      partnerReferenceNo,
      amount: { value: amount, currency: 'IDR' },
      beneficiaryAccountNo: accountNumber,
      beneficiaryAccountName: accountName,
      beneficiaryBankCode: bankCodeOf(bankCode.sent, bank),
      sourceAccountNo: SOURCE_ACCOUNT,
      transactionDate: snapTimestamp(Date.parse(createdAt)),
    }),
  read(httpStatus, body) {
    const code = parseReply(body)?.responseCode ?? null;
    if (code === null || httpStatus >= 500) return { kind: 'unknown' };
    return httpStatus < 300 ? { kind: 'accepted' } : { kind: 'rejected', code: code.text };
  },
});
