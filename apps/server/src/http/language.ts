import type { IncomingHttpHeaders } from 'node:http';
import type { Language } from '../lib/bilingual-text.ts';
import { elementsOf, partsOf } from './request-headers.ts';

/** The language of the answer. Without the header, or with the `*` that fetch of Node.js sends, nothing is parsed. */
export function languageOf({ headers }: { readonly headers: IncomingHttpHeaders }): Language {
  const acceptLanguage = headers['accept-language'];
  return acceptLanguage === undefined || acceptLanguage === '*' ? 'en' : preferredLanguage(acceptLanguage);
}

/** `in` is the code that Indonesian had until 1989 (RFC 5646, section 3.1.6). Old Java and Android still send it. */
const LANGUAGES_BY_SUBTAG: ReadonlyMap<string, Language> = new Map([
  ['en', 'en'],
  ['id', 'id'],
  ['in', 'id'],
]);

/** RFC 9110, section 12.4.2. */
const WEIGHT = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

interface Preference {
  readonly weight: number;
  /** Whether the range is the language itself, and not one of its regions: it says more about the language. */
  readonly isExact: boolean;
}

const UNNAMED: Preference = { weight: 0, isExact: false };

/**
 * The language that `Accept-Language` prefers (RFC 9110, section 12.5.4). Of two with the same weight, the one that is
 * named first. English when neither is acceptable. What cannot be read is ignored: no header makes a request wrong.
 */
function preferredLanguage(acceptLanguage: string): Language {
  const preferences = new Map<Language, Preference>();
  let weightOfOthers = 0;
  for (const element of elementsOf(acceptLanguage.toLowerCase())) {
    const [range = '', parameter, ...more] = partsOf(element);
    const weight = parameter === undefined ? 1 : Number(WEIGHT.exec(parameter)?.[1]);
    if (Number.isNaN(weight) || more.length > 0) continue;
    if (range === '*') weightOfOthers = weight;
    const language = LANGUAGES_BY_SUBTAG.get(range.split('-', 1)[0] as string);
    if (language === undefined) continue;
    const isExact = !range.includes('-');
    const known = preferences.get(language) ?? UNNAMED;
    if (known.isExact && !isExact) continue;
    if (isExact === known.isExact && weight <= known.weight) continue;
    preferences.set(language, { weight, isExact });
  }
  let best: Language = 'en';
  let bestWeight = 0;
  for (const [language, { weight }] of preferences) {
    if (weight > bestWeight) [best, bestWeight] = [language, weight];
  }
  const others = OTHERS.find((language) => !preferences.has(language));
  return others !== undefined && weightOfOthers > bestWeight ? others : best;
}

/** What `*` chooses from, in this order. */
const OTHERS: readonly Language[] = ['en', 'id'];
