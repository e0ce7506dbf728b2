import { readDay, replaceDayPhrases } from './search-days.ts';

/**
 * What a person types into the one search box. A single text goes to the service as it is, which tries all that it may
 * be. Several are read as filters that all hold: `1234567890 150.000 yesterday`.
 */
export interface SearchQuery {
  readonly q?: string;
  readonly account_number?: string;
  readonly amount?: string;
  readonly day?: string;
  readonly status?: string;
  readonly overdue?: string;
  readonly client_id?: string;
  readonly bank_code?: string;
}

/** As the operator API names them. */
export const SEARCH_FIELDS = [
  'q',
  'account_number',
  'amount',
  'day',
  'status',
  'overdue',
  'client_id',
  'bank_code',
  'transaction_id',
  'reference_id',
  'rail_reference',
  'bank_reference',
  'external_id',
  'request_id',
  'created_from',
  'created_to',
] as const;

const WORDS: ReadonlyMap<string, SearchQuery> = new Map([
  ['process', { status: 'PROCESS' }],
  ['success', { status: 'SUCCESS' }],
  ['failed', { status: 'FAILED' }],
  ['gagal', { status: 'FAILED' }],
  ['berhasil', { status: 'SUCCESS' }],
  ['pending', { status: 'PROCESS' }],
  ['diproses', { status: 'PROCESS' }],
  ['sukses', { status: 'SUCCESS' }],
  ['overdue', { overdue: 'true' }],
  ['terlambat', { overdue: 'true' }],
]);

const CURRENCY = /^(?:rp\.?|idr)$/i;
const FIELD = /^(client|bank|status|account|amount|day):(.+)$/i;
const FIELD_NAMES: Readonly<Record<string, keyof SearchQuery>> = {
  client: 'client_id',
  bank: 'bank_code',
  status: 'status',
  account: 'account_number',
  amount: 'amount',
  day: 'day',
};
/** A time of day, as the pages print it beside a day. */
const CLOCK = /^\d{1,2}:\d{2}(?::\d{2})?$|^\d{1,2}\.\d{2}\.\d{2}$/;
/** With a mark that only amounts have. */
const MARKED_AMOUNT =
  /^(?:rp\.?|idr)?\d{1,3}(?:[.,]\d{3})+(?:[.,](?:\d{1,2}|-))?$|^(?:rp\.?|idr)\d|^\d+,-$|^\d+[.,]\d{1,2}$/i;
/** `725rb` is 725 thousand, `1,5 jt` is 1.5 million. */
const IN_THOUSANDS = /(?<![\w.,])(?:(?:rp\.?|idr) ?)?(\d{1,3}(?:\.\d{3})+|\d+(?:[.,]\d{1,2})?) ?(rb|ribu|jt|juta)\b/gi;
const THOUSAND = 1_000;
const DIGITS = /^\d+$/;
/** As account numbers are printed: `1234-5678-90`. */
const DASHED_DIGITS = /^\d+(?:-\d+)+$/;
const ACCOUNT_DIGITS_MIN = 5;
/** The service takes a longer number for no amount. */
const AMOUNT_DIGITS_MAX = 9;

export const readSearch = (text: string, now: Date): SearchQuery => understand(text, now).query;

/** The word for which a text of several is searched as one; null where it was understood, or is one. */
export const findUnread = (text: string, now: Date): string | null => understand(text, now).unread;

function understand(text: string, now: Date): { readonly query: SearchQuery; readonly unread: string | null } {
  const whole = text.trim().replaceAll(/\s+/g, ' ');
  const plain = replaceDayPhrases(whole.replaceAll(IN_THOUSANDS, inRupiah), now);
  const words = joinCurrency(plain.split(/[,;]? /));
  const asOne = { query: { q: whole }, unread: null };
  if (words.length < 2 && plain === whole && !FIELD.test(whole) && !isWord(whole, now)) return asOne;
  const query: Partial<Record<keyof SearchQuery, string>> = {};
  const numbers: string[] = [];
  for (const word of words) {
    const found = readWord(word, now);
    if (found !== null) Object.assign(query, found);
    else if (DIGITS.test(word)) numbers.push(word);
    else if (DASHED_DIGITS.test(word)) numbers.push(word.replaceAll('-', ''));
    // The day is searched, not the time.
    else if (CLOCK.test(word) && words.some((each) => readDay(each, now) !== null)) continue;
    // A part that means nothing by itself: the text is one identifier with spaces.
    else return { ...asOne, unread: word };
  }
  const withAll = withNumbers(query, numbers);
  return withAll === null ? asOne : { query: withAll, unread: null };
}

const isWord = (word: string, now: Date): boolean =>
  WORDS.has(word.toLowerCase()) || (/^[a-z]+$/i.test(word) && readDay(word, now) !== null);

function inRupiah(text: string, number: string, unit: string): string {
  const isMillion = unit.toLowerCase().startsWith('j');
  const isGrouped = /\.\d{3}/.test(number);
  // `1.250 jt` may be 1.25 or 1,250 million.
  if (isMillion && isGrouped) return text;
  const value = Number(isGrouped ? number.replaceAll('.', '') : number.replace(',', '.'));
  return `Rp${Math.round(value * THOUSAND * (isMillion ? THOUSAND : 1))}`;
}

/** `Rp 150.000` is one amount. */
function joinCurrency(words: readonly string[]): string[] {
  const joined: string[] = [];
  for (const word of words) {
    const last = joined.at(-1);
    if (last !== undefined && CURRENCY.test(last)) joined.pop();
    joined.push(last !== undefined && CURRENCY.test(last) ? last + word : word);
  }
  return joined;
}

function readWord(word: string, now: Date): SearchQuery | null {
  const lower = word.toLowerCase();
  const [, field = '', value = ''] = FIELD.exec(word) ?? [];
  const name = FIELD_NAMES[field.toLowerCase()];
  if (name !== undefined) return readField(name, value, now);
  const filter = WORDS.get(lower);
  if (filter !== undefined) return filter;
  const day = readDay(word, now);
  if (day !== null) return { day };
  return MARKED_AMOUNT.test(word) ? { amount: plainAmount(word) } : null;
}

function readField(name: keyof SearchQuery, value: string, now: Date): SearchQuery {
  if (name === 'status') return { status: value.toUpperCase() };
  if (name === 'amount') return { amount: plainAmount(value) };
  return name === 'day' ? { day: readDay(value, now) ?? value } : { [name]: value };
}

/**
 * Two numbers: the one that can be an account and is longer is the account, the other one the amount. Beside an amount
 * that is marked as one, all of them are the account, in groups: `1234 5678 90 Rp150.000`. A single one that may be
 * either is left to the service: `725000 27 nov`.
 */
function withNumbers(query: SearchQuery, numbers: readonly string[]): SearchQuery | null {
  if (query.amount !== undefined && query.account_number === undefined && numbers.length > 1)
    return withNumbers(query, [numbers.join('')]);
  const [first, second] = numbers.toSorted((one, other) => other.length - one.length);
  if (first === undefined) return query;
  const hasSubject = query.account_number !== undefined || query.amount !== undefined;
  if (second === undefined && !hasSubject && first.length <= AMOUNT_DIGITS_MAX) return { ...query, q: first };
  const account = query.account_number === undefined && first.length >= ACCOUNT_DIGITS_MIN ? first : undefined;
  if (second === undefined) return account === undefined ? null : { ...query, account_number: account };
  if (numbers.length > 2 || account === undefined || query.amount !== undefined) return null;
  return { ...query, account_number: account, amount: plainAmount(second) };
}

/** `150.000,00`, `150,000.00`, `Rp150000` and `150000,-` as the API takes it: `150000.00`. */
export function plainAmount(text: string): string {
  const bare = text.replace(/^(?:rp\.?|idr)\s*/i, '').replace(/,-$/, '');
  const cents = /[.,](\d{1,2})$/.exec(bare)?.[1];
  const whole = (cents === undefined ? bare : bare.slice(0, -cents.length - 1)).replaceAll(/\D/g, '');
  return `${whole.replace(/^0+(?=\d)/, '')}.${(cents ?? '').padEnd(2, '0')}`;
}
