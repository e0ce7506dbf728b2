import type { CheckOutcome } from '../account-checks/account-checks.ts';
import { accountNameOf } from '../domain/account.ts';
import { temporarilyUnavailable } from '../domain/temporarily-unavailable.ts';
import type { BilingualText } from '../lib/bilingual-text.ts';
import type { NewResult } from '../postgres/account-validation-results.ts';
import { isNotSent } from '../rails/rail.ts';

/** What happens to a claimed row after its check. */
export type RowDisposition =
  | {
      readonly kind: 'result';
      readonly result: Omit<NewResult, 'clientId' | 'validationId' | 'rowNumber' | 'checkedAt'>;
    }
  /** No inquiry was sent: the row waits again. `pauseMs`: the client is blocked, so the whole validation is paused. */
  | { readonly kind: 'release'; readonly pauseMs: number | null };

/**
 * Each account of a validation is asked about at most once. An inquiry that the bank did not answer ends without a
 * verdict, and so does an account that no rail can check. A row whose inquiry was not sent waits again.
 */
export function dispositionOf(outcome: CheckOutcome): RowDisposition {
  switch (outcome.kind) {
    case 'verdict': {
      const { verdict } = outcome;
      return { kind: 'result', result: { result: verdict.status, accountName: accountNameOf(verdict), message: null } };
    }
    case 'no_verdict':
      if (outcome.reason === 'no_rail') return NO_RAIL;
      if (outcome.reason === 'not_supported') return NOT_SUPPORTED;
      if (outcome.reason === 'rejected_by_bank') return REJECTED_BY_BANK;
      return isNotSent(outcome.reason) ? { kind: 'release', pauseMs: null } : NO_VERDICT;
    case 'blocked':
      return { kind: 'release', pauseMs: outcome.retryAfterMs };
  }
}

const withoutVerdict = (
  result: 'SERVICE_UNAVAILABLE' | 'UNSUPPORTED_BANK',
  message: BilingualText,
): Extract<RowDisposition, { kind: 'result' }> => ({ kind: 'result', result: { result, accountName: null, message } });

const unavailable = (reason: BilingualText) => withoutVerdict('SERVICE_UNAVAILABLE', temporarilyUnavailable(reason));

export const NO_VERDICT = unavailable({
  en: 'the bank gave no verdict, which says nothing about the account. Check it again by itself',
  id: 'bank tidak memberi hasil. Ini tidak menunjukkan keadaan rekening. Cek lagi rekening ini secara terpisah',
});

const NO_RAIL = withoutVerdict('UNSUPPORTED_BANK', {
  en:
    'Unsupported bank: its accounts cannot be checked here, so no inquiry was sent. check_account of ' +
    'GET /api/v1/banks tells which banks can be checked',
  id:
    'Bank belum didukung: rekeningnya tidak dapat dicek di sini, jadi bank tidak ditanya. check_account di ' +
    'GET /api/v1/banks menunjukkan bank yang dapat dicek',
});

const NOT_SUPPORTED = unavailable({
  en: 'no connection to this bank can carry this account number, so no inquiry was sent. Verify the number',
  id:
    'tidak ada koneksi ke bank ini yang dapat membawa nomor rekening ini, jadi bank tidak ditanya. Periksa kembali ' +
    'nomornya',
});

const REJECTED_BY_BANK = unavailable({
  en: 'the bank rejects inquiries about this account number, which says nothing about the account. Verify the number',
  id: 'bank menolak pengecekan nomor rekening ini. Ini tidak menunjukkan keadaan rekening. Periksa kembali nomornya',
});

/** The inquiry may have been sent, so it is not sent again. */
export const ABANDONED = unavailable({
  en:
    'the service was interrupted during the inquiry to the bank, which says nothing about the account. ' +
    'Check it again by itself',
  id:
    'layanan terputus saat bertanya kepada bank. Ini tidak menunjukkan keadaan rekening. Cek lagi rekening ini ' +
    'secara terpisah',
});
