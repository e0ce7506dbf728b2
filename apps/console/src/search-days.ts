/** Days as people type them: words, phrases and dates of both languages. Pure: the API's days are those of Jakarta. */

const JAKARTA_MS = 7 * 60 * 60 * 1_000;
const DAY_MS = 24 * 60 * 60 * 1_000;
const DAYS_PER_WEEK = 7;

const DAYS_AGO: ReadonlyMap<string, number> = new Map([
  ['today', 0],
  ['hari ini', 0],
  ['yesterday', 1],
  ['kemarin', 1],
  ['kemarin lusa', 2],
  ['kemarin dulu', 2],
  ['day before yesterday', 2],
]);
const NAMED_DAY = /\b(?:hari ini|kemarin (?:lusa|dulu)|day before yesterday)\b/gi;
const DAYS_AGO_COUNTED = /(?<![\w.,])(\d{1,3}) (?:hari (?:yang )?lalu|days? ago)\b/gi;
const WEEKDAYS = [
  ['sunday', 'minggu', 'ahad'],
  ['monday', 'senin'],
  ['tuesday', 'selasa'],
  ['wednesday', 'rabu'],
  ['thursday', 'kamis'],
  ['friday', 'jumat', "jum'at"],
  ['saturday', 'sabtu'],
];
const WEEKDAY = /(?<!\S)(last |hari )?([a-z']{4,9})( lalu)?(?![^\s,;])/gi;
/** `minggu lalu` is the last week, not the last Sunday. */
const LAST_WEEK = /^minggu lalu$/i;
const MONTHS = [
  ['jan', 'january', 'januari'],
  ['feb', 'february', 'februari'],
  ['mar', 'march', 'maret'],
  ['apr', 'april'],
  ['may', 'mei'],
  ['jun', 'june', 'juni'],
  ['jul', 'july', 'juli'],
  ['aug', 'august', 'agu', 'agt', 'agustus'],
  ['sep', 'sept', 'september'],
  ['oct', 'october', 'okt', 'oktober'],
  ['nov', 'november'],
  ['dec', 'december', 'des', 'desember'],
];
/** `27 Nov` and `27 November 2026`, also with dashes. */
const DAY_AND_MONTH = /(?<![\w.,/-])(\d{1,2})[ -]([a-z]+)(?:[ -](20\d\d))?(?![\w/-])/gi;
const ISO_DAY = /^\d{4}-\d{2}-\d{2}$/;
const LOCAL_DAY = /^(\d{1,2})([/-])(\d{1,2})(?:\2(\d{4}|\d{2}))?$/;

/** The day that one word names: `yesterday`, `2026-11-21`, or `21/11` in the year that made it the latest such day. */
export function readDay(word: string, now: Date): string | null {
  const daysAgo = DAYS_AGO.get(word.toLowerCase());
  if (daysAgo !== undefined) return dayBefore(now, daysAgo);
  if (ISO_DAY.test(word)) return word;
  const [, day, , month, year] = LOCAL_DAY.exec(word) ?? [];
  if (day === undefined || month === undefined || Number(month) > 12 || Number(day) > 31) return null;
  return dayOf(day, month, year?.length === 2 ? `20${year}` : year, now);
}

/** Phrases that name a day, and weekdays, become their date: `2 days ago`, `27 Nov`, `senin`. */
export const replaceDayPhrases = (text: string, now: Date): string =>
  text
    .replaceAll(NAMED_DAY, (name) => dayBefore(now, DAYS_AGO.get(name.toLowerCase()) ?? 0))
    .replaceAll(DAYS_AGO_COUNTED, (_, days: string) => dayBefore(now, Number(days)))
    .replaceAll(DAY_AND_MONTH, (phrase, day: string, name: string, year?: string) => {
      const month = positionOf(name, MONTHS) + 1;
      const found = dayOf(day, String(month), year, now);
      return month > 0 && isInCalendar(found) ? found : phrase;
    })
    .replaceAll(WEEKDAY, (phrase, before: string | undefined, name: string, after: string | undefined) => {
      const weekday = positionOf(name, WEEKDAYS);
      if (weekday < 0 || LAST_WEEK.test(phrase)) return phrase;
      const isPast = /^last/i.test(before ?? '') || after !== undefined;
      const today = new Date(now.getTime() + JAKARTA_MS).getUTCDay();
      const daysAgo = (today - weekday + DAYS_PER_WEEK) % DAYS_PER_WEEK;
      return dayBefore(now, daysAgo === 0 && isPast ? DAYS_PER_WEEK : daysAgo);
    });

const positionOf = (name: string, lists: readonly (readonly string[])[]): number =>
  lists.findIndex((names) => names.includes(name.toLowerCase()));

/** Without a year, the latest such day. */
function dayOf(day: string, month: string, year: string | undefined, now: Date): string {
  const inYear = (each: number | string): string => `${each}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  const today = dayBefore(now, 0);
  const thisYear = Number(today.slice(0, 4));
  return inYear(year ?? (inYear(thisYear) <= today ? thisYear : thisYear - 1));
}

/** Not the 31st of June. */
function isInCalendar(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

const dayBefore = (now: Date, days: number): string =>
  new Date(now.getTime() + JAKARTA_MS - days * DAY_MS).toISOString().slice(0, 10);
