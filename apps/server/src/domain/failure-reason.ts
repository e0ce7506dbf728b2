import type { BilingualText } from '../lib/bilingual-text.ts';

/**
 * The failure reasons of disbursements as clients see them (docs/contract.md 2.2, `failure_reason`). Programs read the
 * code before the colon, people read the sentences after it.
 *
 * The published text is the English one. It is stored with each transaction. A reworded sentence differs from the
 * stored ones, and a feed that sends an old text has it replaced with OTHER. Add codes, but do not change existing
 * entries after a release. The Indonesian text is not stored: it replaces the published one in an answer.
 */

/** Who can prevent it from happening again. */
export type Fault = 'recipient' | 'sender' | 'bank' | 'operator';

interface Description {
  readonly happened: BilingualText;
  readonly fault: Fault;
  readonly remedy: BilingualText;
}

export const FAILURE_REASONS = {
  ACCOUNT_NOT_FOUND: {
    happened: { en: 'The recipient account does not exist', id: 'Rekening penerima tidak ada' },
    fault: 'recipient',
    remedy: {
      en: 'Correct the account number and disburse again',
      id: 'Perbaiki nomor rekening, lalu kirim ulang disbursement',
    },
  },
  ACCOUNT_INACTIVE: {
    happened: {
      en: 'The recipient account is inactive or closed',
      id: 'Rekening penerima tidak aktif atau sudah ditutup',
    },
    fault: 'recipient',
    remedy: { en: 'Ask the recipient for another account', id: 'Minta rekening lain kepada penerima' },
  },
  ACCOUNT_DORMANT: {
    happened: { en: 'The recipient account is dormant', id: 'Rekening penerima berstatus pasif (dormant)' },
    fault: 'recipient',
    remedy: {
      en: 'Ask the recipient to have the bank reactivate it, or for another account',
      id: 'Minta penerima mengaktifkannya kembali di bank, atau minta rekening lain',
    },
  },
  ACCOUNT_BLOCKED: {
    happened: {
      en: 'The recipient account is blocked or suspended',
      id: 'Rekening penerima diblokir atau ditangguhkan',
    },
    fault: 'recipient',
    remedy: {
      en: 'Ask the recipient to settle it with the bank, or for another account',
      id: 'Minta penerima menyelesaikannya dengan bank, atau minta rekening lain',
    },
  },
  NAME_MISMATCH: {
    happened: {
      en: 'The account does not belong to the named recipient',
      id: 'Rekening ini bukan milik penerima yang disebutkan',
    },
    fault: 'recipient',
    remedy: {
      en: 'Check the account, correct the name or the number, and disburse again',
      id: 'Cek rekening, perbaiki nama atau nomornya, lalu kirim ulang disbursement',
    },
  },
  AMOUNT_LIMIT_EXCEEDED: {
    happened: {
      en: 'The amount exceeds a limit of the bank or of the account',
      id: 'Nominal melebihi batas bank atau batas rekening',
    },
    fault: 'sender',
    remedy: {
      en: 'Disburse in smaller amounts or on another day',
      id: 'Kirim dalam nominal yang lebih kecil atau di hari lain',
    },
  },
  ACTIVITY_LIMIT_EXCEEDED: {
    happened: {
      en: 'There were more transfers than the bank allows in a time',
      id: 'Jumlah transfer melebihi batas bank dalam satu periode',
    },
    fault: 'sender',
    remedy: { en: 'Disburse again later', id: 'Kirim ulang disbursement nanti' },
  },
  INSUFFICIENT_FUNDS: {
    happened: {
      en: 'The balance that disbursements are paid from was too low',
      id: 'Saldo sumber dana disbursement tidak cukup',
    },
    fault: 'sender',
    remedy: { en: 'Top it up and disburse again', id: 'Isi saldo, lalu kirim ulang disbursement' },
  },
  SUSPECTED_FRAUD: {
    happened: {
      en: 'The bank stopped the transfer because it suspects fraud',
      id: 'Bank menghentikan transfer karena dicurigai sebagai penipuan',
    },
    fault: 'bank',
    remedy: {
      en: 'Do not disburse again before you have talked to the recipient and to us',
      id: 'Jangan kirim ulang sebelum Anda berbicara dengan penerima dan dengan kami',
    },
  },
  BANK_UNAVAILABLE: {
    happened: { en: "The recipient's bank could not be reached", id: 'Bank penerima tidak dapat dihubungi' },
    fault: 'bank',
    remedy: { en: 'Disburse again later', id: 'Kirim ulang disbursement nanti' },
  },
  BANK_NOT_SUPPORTED: {
    happened: {
      en: "The recipient's bank cannot be paid to on this way",
      id: 'Bank penerima tidak dapat dituju melalui jalur ini',
    },
    fault: 'operator',
    remedy: {
      en: 'Ask the recipient for an account at another bank',
      id: 'Minta rekening di bank lain kepada penerima',
    },
  },
  CUT_OFF: {
    happened: {
      en: 'The bank takes no transfers at this time of day',
      id: 'Bank tidak menerima transfer pada jam ini',
    },
    fault: 'bank',
    remedy: { en: 'Disburse again after the cut-off', id: 'Kirim ulang disbursement setelah jam cut-off' },
  },
  CANCELLED: {
    happened: { en: 'The transfer was cancelled before it was paid', id: 'Transfer dibatalkan sebelum dibayarkan' },
    fault: 'operator',
    remedy: { en: 'Disburse again if it is still wanted', id: 'Kirim ulang disbursement jika masih diperlukan' },
  },
  REFUNDED: {
    happened: { en: 'The bank gave the money back', id: 'Bank mengembalikan dana' },
    fault: 'bank',
    remedy: { en: 'Check the account and disburse again', id: 'Cek rekening, lalu kirim ulang disbursement' },
  },
  DUPLICATE: {
    happened: {
      en: 'The bank took it for the repetition of another transfer',
      id: 'Bank menganggapnya pengulangan dari transfer lain',
    },
    fault: 'operator',
    remedy: {
      en: 'Look for the other one before you disburse again',
      id: 'Cari transfer tersebut sebelum Anda mengirim ulang',
    },
  },
  REJECTED_BY_BANK: {
    happened: {
      en: 'The bank refused the transfer without a reason that is known here',
      id: 'Bank menolak transfer tanpa alasan yang dikenal di sini',
    },
    fault: 'bank',
    remedy: { en: 'Ask us before you disburse again', id: 'Tanyakan kepada kami sebelum Anda mengirim ulang' },
  },
  OTHER: {
    happened: {
      en: 'It failed for a reason that has no code of its own',
      id: 'Gagal karena alasan yang tidak memiliki kode sendiri',
    },
    fault: 'operator',
    remedy: {
      en: 'Ask us for the details before you disburse again',
      id: 'Tanyakan rinciannya kepada kami sebelum Anda mengirim ulang',
    },
  },
} as const satisfies Record<string, Description>;

export type FailureReason = keyof typeof FAILURE_REASONS;

export const FAILURE_REASON_CODES = Object.keys(FAILURE_REASONS) as readonly FailureReason[];

/** `CODE: What happened. What to do.` */
export function reasonText(reason: FailureReason): BilingualText {
  const { happened, remedy } = FAILURE_REASONS[reason];
  return { en: `${reason}: ${happened.en}. ${remedy.en}.`, id: `${reason}: ${happened.id}. ${remedy.id}.` };
}

/** The text that is stored and published, in English. */
export const publishedReason = (reason: FailureReason): string => reasonText(reason).en;

/** The reason of a code or of a whole published text; OTHER for anything else. */
export function readFailureReason(text: string): FailureReason {
  const [code = ''] = text.split(':', 1);
  if (!isFailureReason(code)) return 'OTHER';
  return text === code || text === publishedReason(code) ? code : 'OTHER';
}

const isFailureReason = (text: string): text is FailureReason => Object.hasOwn(FAILURE_REASONS, text);
