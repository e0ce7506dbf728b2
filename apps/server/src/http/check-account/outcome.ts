import type { CheckOutcome } from '../../account-checks/account-checks.ts';
import type { EnumerationSignal } from '../../account-checks/enumeration/restrictions.ts';
import type { AccountNumber } from '../../domain/account.ts';
import type { Bank } from '../../domain/bank.ts';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { outcomeLabel } from '../../rails/rail.ts';
import { ApiError, tooManyRequests, unavailable } from '../errors.ts';

/** What the JSON API and the SNAP listener say about an account check. */

/**
 * A client gets its answer 5 s after its request has arrived (docs/contract.md 4.3). Whatever the request has waited
 * for here, its bank has what is left of this time. The difference is a reserve for a busy process.
 */
export const OUTCOME_WITHIN_MS = 4_500;

/** When the bank's recovery time is unknown. */
const BANK_RETRY_AFTER_MS = 5_000;
/** A retry does not help: the number stays as it is. */
const PERMANENT_RETRY_AFTER_MS = 60 * 60_000;

/** A pause ends when the operator restarts the service. */
const PAUSED_RETRY_AFTER_MS = 60_000;

/** Fields for the access log. */
export function outcomeLogFields(
  bank: Bank,
  number: AccountNumber,
  outcome: CheckOutcome,
): Readonly<Record<string, unknown>> {
  // Masked. Converted to text here, because serializing an object with a toJSON method takes three times as long.
  const account = number.toString();
  if (outcome.kind === 'blocked') return { bank: bank.bic, account, outcome: outcome.reason };
  return {
    bank: bank.bic,
    account,
    outcome: outcomeLabel(outcome),
    rail: outcome.rail,
    railCode: outcome.railCode,
    age: outcome.ageSeconds,
    may_be_closed: outcome.kind === 'verdict' ? outcome.mayBeClosed : undefined,
  };
}

/** The error for a check without a verdict. */
export function noVerdictError(bank: Bank, outcome: Exclude<CheckOutcome, { kind: 'verdict' }>): ApiError {
  if (outcome.kind === 'blocked') return tooManyRequests(outcome.retryAfterMs, BLOCKED_MESSAGES[outcome.reason]);
  if (outcome.reason === 'no_rail') {
    return new ApiError('UNSUPPORTED_BANK', {
      message: {
        en:
          `Unsupported bank: accounts of ${bank.name} cannot be checked here. GET /api/v1/banks lists the banks with ` +
          'check_account true',
        id:
          `Bank belum didukung: rekening ${bank.name} tidak dapat dicek di sini. Lihat bank dengan check_account ` +
          'true di GET /api/v1/banks',
      },
    });
  }
  if (outcome.reason === 'paused') return unavailable(PAUSED_MESSAGE, PAUSED_RETRY_AFTER_MS);
  if (outcome.reason === 'not_supported') {
    return unavailable(
      {
        en:
          `no connection to ${bank.name} here can carry this account number, which says nothing about the account. ` +
          'Make sure that the number is right',
        id:
          `tidak ada koneksi ke ${bank.name} di sini yang dapat membawa nomor rekening ini. Ini tidak menunjukkan ` +
          'keadaan rekening. Pastikan nomornya benar',
      },
      PERMANENT_RETRY_AFTER_MS,
    );
  }
  if (outcome.reason === 'rejected_by_bank') {
    return unavailable(
      {
        en:
          `${bank.name} rejects inquiries about this account number, which says nothing about the account. Make sure ` +
          'that the number is right',
        id:
          `${bank.name} menolak pengecekan nomor rekening ini. Ini tidak menunjukkan keadaan rekening. Pastikan ` +
          'nomornya benar',
      },
      PERMANENT_RETRY_AFTER_MS,
    );
  }
  return unavailable(
    {
      en: `${bank.name} cannot answer now, which says nothing about the account. Repeat the request`,
      id: `${bank.name} sedang tidak dapat menjawab. Ini tidak menunjukkan keadaan rekening. Ulangi permintaan`,
    },
    outcome.retryAfterMs ?? BANK_RETRY_AFTER_MS,
  );
}

const PAUSED_MESSAGE: BilingualText = {
  en:
    'the operator has paused this service: no bank is asked, which says nothing about the account. Repeat the ' +
    'request later',
  id:
    'layanan ini sedang dijeda oleh operator: tidak ada bank yang ditanya. Ini tidak menunjukkan keadaan rekening. ' +
    'Ulangi permintaan nanti',
};

const ENUMERATION_MESSAGE: BilingualText = {
  en:
    'These checks look like account enumeration rather than payments: continue with new accounts after the number of ' +
    'seconds in Retry-After, or ask the operator to allow it. Accounts that you have checked today can be ' +
    'checked again',
  id:
    'Pengecekan ini lebih mirip penelusuran nomor rekening daripada pembayaran: lanjutkan dengan rekening baru ' +
    'setelah jumlah detik di Retry-After, atau minta izin kepada operator. Rekening yang sudah Anda cek hari ini ' +
    'dapat dicek lagi',
};

/** The message does not say which signal it was: a client that knows could evade it. The operator sees it. */
const BLOCKED_MESSAGES: Readonly<Record<EnumerationSignal, BilingualText>> = {
  accounts_per_day: {
    en:
      'Too many different accounts in one day: continue with new ones after the number of seconds in Retry-After, or ' +
      'ask the operator for a higher limit. Accounts that you have checked today can be checked again',
    id:
      'Terlalu banyak rekening berbeda dalam satu hari: lanjutkan dengan rekening baru setelah jumlah detik di ' +
      'Retry-After, atau minta batas yang lebih tinggi kepada operator. Rekening yang sudah Anda cek hari ini dapat ' +
      'dicek lagi',
  },
  not_found_ratio: ENUMERATION_MESSAGE,
  sequential_numbers: ENUMERATION_MESSAGE,
  clustered_numbers: ENUMERATION_MESSAGE,
};
