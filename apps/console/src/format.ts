/** Values as people read them. Pure: the language, the zone and the time of day are given. */

type Language = 'en' | 'id';

const LOCALES = { en: 'en-GB', id: 'id-ID' } as const satisfies Record<Language, string>;

/** `IDR 150,000.00` or `Rp150.000,00`, digit by digit: an amount may be larger than a number can be exact. */
export function money(amount: string, currency: string, language: Language): string {
  const [, sign = '', whole = '0', cents = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount) ?? [];
  const [separator, point] = language === 'en' ? [',', '.'] : ['.', ','];
  const grouped = whole.replaceAll(/\B(?=(?:\d{3})+$)/g, separator);
  const unit = language === 'id' && currency === 'IDR' ? 'Rp' : `${currency} `;
  return `${sign}${unit}${grouped}${point}${cents.padEnd(2, '0')}`;
}

/** `1,234` or `1.234`. */
export const integer = (value: number, language: Language): string =>
  new Intl.NumberFormat(LOCALES[language], { maximumFractionDigits: 0 }).format(value);

/** Three digits that matter: `0.25`, `12.3`, `1,234`. */
export const figure = (value: number, language: Language): string =>
  new Intl.NumberFormat(LOCALES[language], {
    maximumSignificantDigits: value < 1_000 ? 3 : 21,
    maximumFractionDigits: 2,
  }).format(value);

/** `21 Nov 2026, 10:02:31`, without the day where it is today, and without the year where it is this one. */
export function time(at: string, language: Language, now: Date, timeZone?: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  const part = partOf(language, timeZone);
  const dayOf = (each: Date): string => part(each, { year: 'numeric', month: 'numeric', day: 'numeric' });
  return dayOf(date) === dayOf(now) ? clockOf(part, date) : dayAndTime(at, language, now, timeZone);
}

type Part = (date: Date, options: Intl.DateTimeFormatOptions) => string;

const partOf =
  (language: Language, timeZone?: string): Part =>
  (date, options) =>
    new Intl.DateTimeFormat(LOCALES[language], {
      ...(timeZone === undefined ? {} : { timeZone }),
      ...options,
    }).format(date);

const clockOf = (part: Part, date: Date): string =>
  part(date, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });

/** The same, with the day also where it is today. */
export function dayAndTime(at: string, language: Language, now: Date, timeZone?: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  const part = partOf(language, timeZone);
  return `${dayText(part, date, now)}, ${clockOf(part, date)}`;
}

function dayText(part: Part, date: Date, now: Date): string {
  const isThisYear = part(date, { year: 'numeric' }) === part(now, { year: 'numeric' });
  return part(date, { day: 'numeric', month: 'short', ...(isThisYear ? {} : { year: 'numeric' }) });
}

const INSTANT = /\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g;

/** The text with its times in the zone of the reader, as `show` shows one. */
export const withLocalTimes = (
  text: string,
  language: Language,
  now: Date,
  { show = time, timeZone }: { readonly show?: typeof time; readonly timeZone?: string } = {},
): string => text.replaceAll(INSTANT, (at) => show(at, language, now, timeZone));

/** `21 Nov`, in the zone of the reader. */
export const day = (at: string, language: Language): string =>
  new Intl.DateTimeFormat(LOCALES[language], { day: 'numeric', month: 'short' }).format(new Date(at));

/** A date without a time, such as the `2026-11-21` of a search, as the tables print it: `21 Nov`. */
export function calendarDay(date: string, language: Language, now: Date): string {
  const at = new Date(`${date}T00:00:00Z`);
  return Number.isNaN(at.getTime()) ? date : dayText(partOf(language, 'UTC'), at, now);
}

/** `2026-11-21 03:02:31 UTC`. */
export const utc = (at: string): string => {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? at : `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
};

const UNITS = [
  { en: 'd', id: 'hr', seconds: 86_400 },
  { en: 'h', id: 'j', seconds: 3_600 },
  { en: 'min', id: 'mnt', seconds: 60 },
  { en: 's', id: 'd', seconds: 1 },
] as const;

/** The two largest units: `2 h 5 min`, `31 s`. */
export function duration(ms: number, language: Language): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1_000);
  const first = UNITS.findIndex((unit) => seconds >= unit.seconds);
  const [large, small] = [UNITS[first] ?? UNITS[3], UNITS[first + 1]];
  const whole = Math.floor(seconds / large.seconds);
  const rest = small === undefined ? 0 : Math.floor((seconds % large.seconds) / small.seconds);
  return `${whole} ${large[language]}${rest === 0 || small === undefined ? '' : ` ${rest} ${small[language]}`}`;
}

/** A link to a log or a trace: each placeholder is replaced, escaped. Null where one of them has no value. */
export function linkFrom(
  template: string | null,
  values: Readonly<Partial<Record<string, string | null>>>,
): string | null {
  if (template === null) return null;
  const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  if (names.some((name) => (values[name] ?? null) === null)) return null;
  return template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
}
