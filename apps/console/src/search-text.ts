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
const DAYS_AGO: ReadonlyMap<string, number> = new Map([
  ['today', 0],
  ['yesterday', 1],
  ['kemarin', 1],
]);
/** Of two words, in Indonesian. */
const TODAY_IN_INDONESIAN = /\bhari ini\b/gi;

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
const ISO_DAY = /^\d{4}-\d{2}-\d{2}$/;
const LOCAL_DAY = /^(\d{1,2})([/-])(\d{1,2})(?:\2(\d{4}|\d{2}))?$/;
/** With a mark that only amounts have. */
const MARKED_AMOUNT =
  /^(?:rp\.?|idr)?\d{1,3}(?:[.,]\d{3})+(?:[.,](?:\d{1,2}|-))?$|^(?:rp\.?|idr)\d|^\d+,-$|^\d+[.,]\d{1,2}$/i;
const DIGITS = /^\d+$/;
/** As account numbers are printed: `1234-5678-90`. */
const DASHED_DIGITS = /^\d+(?:-\d+)+$/;
const ACCOUNT_DIGITS_MIN = 5;
const JAKARTA_MS = 7 * 60 * 60 * 1_000;
const DAY_MS = 24 * 60 * 60 * 1_000;

export function readSearch(text: string, now: Date): SearchQuery {
  const whole = text.trim().replaceAll(/\s+/g, ' ');
  const words = joinCurrency(whole.replaceAll(TODAY_IN_INDONESIAN, 'today').split(/[,;]? /));
  if (words.length < 2 && !FIELD.test(whole) && !isWord(whole)) return { q: whole };
  const query: Partial<Record<keyof SearchQuery, string>> = {};
  const numbers: string[] = [];
  for (const word of words) {
    const found = readWord(word, now);
    if (found !== null) Object.assign(query, found);
    else if (DIGITS.test(word)) numbers.push(word);
    else if (DASHED_DIGITS.test(word)) numbers.push(word.replaceAll('-', ''));
    // A part that means nothing by itself: the text is one identifier with spaces.
    else return { q: whole };
  }
  return withNumbers(query, numbers) ?? { q: whole };
}

const isWord = (word: string): boolean => WORDS.has(word.toLowerCase()) || DAYS_AGO.has(word.toLowerCase());

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
 * that is marked as one, all of them are the account, in groups: `1234 5678 90 Rp150.000`.
 */
function withNumbers(query: SearchQuery, numbers: readonly string[]): SearchQuery | null {
  if (query.amount !== undefined && query.account_number === undefined && numbers.length > 1)
    return withNumbers(query, [numbers.join('')]);
  const [first, second] = numbers.toSorted((one, other) => other.length - one.length);
  if (first === undefined) return query;
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

/** `yesterday`, `2026-11-21`, or `21/11` in the year that made it the latest such day. */
function readDay(word: string, now: Date): string | null {
  const daysAgo = DAYS_AGO.get(word.toLowerCase());
  if (daysAgo !== undefined) return jakartaDay(now.getTime() - daysAgo * DAY_MS);
  if (ISO_DAY.test(word)) return word;
  const [, day, , month, year] = LOCAL_DAY.exec(word) ?? [];
  if (day === undefined || month === undefined || Number(month) > 12 || Number(day) > 31) return null;
  const inYear = (each: string): string => `${each}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  if (year !== undefined) return inYear(year.length === 2 ? `20${year}` : year);
  const today = jakartaDay(now.getTime());
  const thisYear = inYear(today.slice(0, 4));
  return thisYear <= today ? thisYear : inYear(String(Number(today.slice(0, 4)) - 1));
}

/** The API's days are those of Jakarta. */
const jakartaDay = (ms: number): string => new Date(ms + JAKARTA_MS).toISOString().slice(0, 10);
