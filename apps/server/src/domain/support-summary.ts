import type { BilingualText } from '../lib/bilingual-text.ts';
import { FAILURE_REASONS, readFailureReason } from './failure-reason.ts';
import { JAKARTA_OFFSET_MS, jakartaDayOf } from './instant.ts';
import type { Transaction } from './transaction.ts';

/** What is known about the inquiries at the bank. Times are ISO 8601 UTC. */
export interface InquirySummary {
  /** null when the bank was not asked, or cannot be. */
  readonly lastAskedAt: string | null;
  /** `processing`: it has the transfer. `unknown`: it does not know it. null: it has not answered. */
  readonly lastAnswer: 'processing' | 'unknown' | null;
  /** Set aside for a person. */
  readonly inReview: boolean;
}

/** What a support agent can read to a customer about a transaction, or send: it stays true on another day. */
export function supportSummary(transaction: Transaction, inquiry: InquirySummary): BilingualText {
  const subject = subjectOf(transaction);
  switch (transaction.status) {
    case 'PROCESS':
      return sentence(subject, processClauses(transaction, inquiry));
    case 'SUCCESS':
      return sentence(subject, successClauses(transaction));
    case 'FAILED': {
      const { happened, remedy } = FAILURE_REASONS[readFailureReason(transaction.failureReason ?? '')];
      const failedAt = transaction.processedAt ?? transaction.createdAt;
      const time = timeTexts([failedAt])(failedAt);
      return {
        en: `${subject.en} failed ${time.en}. ${happened.en}. ${remedy.en}.`,
        id: `${subject.id} gagal ${time.id}. ${happened.id}. ${remedy.id}.`,
      };
    }
  }
}

type TimeText = (instant: string) => BilingualText;

function processClauses(transaction: Transaction, inquiry: InquirySummary): BilingualText[] {
  const { createdAt, rail, expectedBy, overdueSince } = transaction;
  const at = timeTexts([createdAt, inquiry.lastAskedAt, expectedBy ?? overdueSince]);
  const started = at(createdAt);
  return [
    rail === null
      ? { en: `was ordered ${started.en}`, id: `dipesan ${started.id}` }
      : { en: `was sent to the bank ${started.en}`, id: `dikirim ke bank ${started.id}` },
    ...answerClauses(inquiry),
    ...askedClauses(inquiry, at),
    ...expectedClauses(transaction, at),
  ];
}

function expectedClauses({ expectedBy, overdueSince }: Transaction, at: TimeText): BilingualText[] {
  // A customer counts from the promise. Tiba may have noticed days later that the time is over.
  const limit = expectedBy ?? overdueSince;
  if (limit === null) return [];
  const { en, id } = bare(at(limit));
  return overdueSince === null
    ? [{ en: `should be done by ${en}`, id: `seharusnya selesai paling lambat ${id}` }]
    : [{ en: `has been overdue since ${en}`, id: `melewati batas waktu sejak ${id}` }];
}

function answerClauses({ lastAnswer, inReview }: InquirySummary): BilingualText[] {
  if (inReview) {
    return [
      {
        en: 'is not known to the bank, so our team is examining it with the bank',
        id: 'belum dikenal oleh bank, sehingga tim kami sedang memeriksanya bersama bank',
      },
    ];
  }
  if (lastAnswer === 'processing') return [{ en: 'was accepted by the bank', id: 'sudah diterima oleh bank' }];
  return lastAnswer === null ? [] : [{ en: 'is not known to the bank yet', id: 'belum dikenal oleh bank' }];
}

function askedClauses({ lastAskedAt }: InquirySummary, at: TimeText): BilingualText[] {
  if (lastAskedAt === null) return [];
  const { en, id } = at(lastAskedAt);
  return [{ en: `was last asked about at the bank ${en}`, id: `terakhir ditanyakan ke bank ${id}` }];
}

function successClauses({ processedAt, createdAt, bankReference, reversedAt }: Transaction): BilingualText[] {
  const arrivedAt = processedAt ?? createdAt;
  const at = timeTexts([arrivedAt, reversedAt]);
  const time = at(arrivedAt);
  const reference =
    bankReference === null
      ? { en: '', id: '' }
      : { en: ` under the bank's reference ${bankReference}`, id: ` dengan referensi bank ${bankReference}` };
  const arrived = { en: `arrived ${time.en}${reference.en}`, id: `sudah masuk ${time.id}${reference.id}` };
  if (reversedAt === null) return [arrived];
  const back = at(reversedAt);
  return [arrived, { en: `was returned by the bank ${back.en}`, id: `dikembalikan oleh bank ${back.id}` }];
}

/** `The transfer of IDR 150,000.00 to Bank Central Asia`. */
function subjectOf({ amount, currency, bankName }: Transaction): BilingualText {
  const [whole = '', cents = '00'] = amount.split('.');
  const grouped = (separator: string): string => whole.replaceAll(/\B(?=(?:\d{3})+$)/g, separator);
  const inIndonesian = currency === 'IDR' ? 'Rp' : `${currency} `;
  return {
    en: `The transfer of ${currency} ${grouped(',')}.${cents} to ${bankName}`,
    id: `Transfer ${inIndonesian}${grouped('.')},${cents} ke ${bankName}`,
  };
}

/** `subject a, b and c.` */
function sentence(subject: BilingualText, clauses: readonly BilingualText[]): BilingualText {
  const join = (texts: readonly string[], and: string): string =>
    texts.length < 2 ? texts.join() : `${texts.slice(0, -1).join(', ')}${and}${texts.at(-1)}`;
  return {
    en: `${subject.en} ${join(
      clauses.map(({ en }) => en),
      ', and ',
    )}.`,
    id: `${subject.id} ${join(
      clauses.map(({ id }) => id),
      ', dan ',
    )}.`,
  };
}

const MONTHS: readonly BilingualText[] = [
  { en: 'January', id: 'Januari' },
  { en: 'February', id: 'Februari' },
  { en: 'March', id: 'Maret' },
  { en: 'April', id: 'April' },
  { en: 'May', id: 'Mei' },
  { en: 'June', id: 'Juni' },
  { en: 'July', id: 'Juli' },
  { en: 'August', id: 'Agustus' },
  { en: 'September', id: 'September' },
  { en: 'October', id: 'Oktober' },
  { en: 'November', id: 'November' },
  { en: 'December', id: 'Desember' },
];

/** The times of a sentence: the first names its day and, where they are of several days, each does. */
function timeTexts(instants: readonly (string | null)[]): TimeText {
  const given = instants.filter((instant) => instant !== null);
  const isOneDay = new Set(given.map((instant) => jakartaDayOf(Date.parse(instant)))).size === 1;
  return (instant) => timeText(Date.parse(instant), !isOneDay || instant === given[0]);
}

/** In Jakarta: `at 10:02`. */
function timeText(ms: number, withDay: boolean): BilingualText {
  const [date = '', clock = ''] = new Date(ms + JAKARTA_OFFSET_MS).toISOString().split('T');
  const time = clock.slice(0, 5);
  const [year, month, day] = date.split('-').map(Number);
  const name = MONTHS[(month ?? 1) - 1] ?? { en: '', id: '' };
  return {
    en: withDay ? `on ${day} ${name.en} ${year} at ${time} WIB` : `at ${time} WIB`,
    id: `${withDay ? `pada ${day} ${name.id} ${year} ` : ''}pukul ${time.replace(':', '.')} WIB`,
  };
}

/** Without the preposition, after one of its own: `since 10:32`, `sejak 21 November`. */
const bare = ({ en, id }: BilingualText): BilingualText => ({
  en: en.replace(/^(?:at|on) /, ''),
  id: id.replace(/^pada /, ''),
});
