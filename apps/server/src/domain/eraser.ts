import { replaceInStoredForm, toStoredText } from './stored-text.ts';

/** Replaces a person's account numbers and names in texts. */

/** What stands in the place of a number or a name. */
export const ERASED = 'ERASED';

export interface Eraser {
  readonly finds: (text: string) => boolean;
  readonly eraseText: (text: string) => string;
  /**
   * In the strings of a JSON text; everything else stays byte for byte, also numbers such as an amount, and the fields
   * with identifiers and banks.
   */
  readonly eraseJson: (json: string) => string;
}

/** Identifiers that a core or a bank gave. Other systems find a transaction by them, so they stay as they are. */
export const NOT_EXAMINED = [
  'reference_id',
  'external_id',
  'bank_reference',
  'rail_reference',
  'source_account_number',
] as const;

/** Systems find a transaction by the first ones; a bank may have a person's name. */
const KEPT_FIELDS = ['client_id', 'transaction_id', ...NOT_EXAMINED, 'rail', 'bank_code', 'bank_name', 'service_code'];
const STRING = String.raw`"(?:[^"\\]|\\.)*"`;
/** A field that is kept, with its value, or any other string. */
const JSON_STRING = new RegExp(String.raw`("(?:${KEPT_FIELDS.join('|')})"\s*:\s*${STRING})|${STRING}`, 'g');

/**
 * A term counts as a whole word, in any case, with any white space between its words, and a number also with single
 * spaces or dashes between its digits. `1234567` is not found in `12345678`, nor in the amount `1234567.00`. Both are
 * compared as the feed stores them: a message may have a name decomposed, or with controls of the writing direction.
 */
export function createEraser(terms: readonly string[]): Eraser {
  const alternatives = [...new Set(terms.map(toStoredText))]
    .filter((term) => term.trim() !== '' && term !== ERASED)
    .sort((one, other) => other.length - one.length)
    .map(toPattern);
  if (alternatives.length === 0) return { finds: () => false, eraseText: (text) => text, eraseJson: (json) => json };
  const words = String.raw`(?<![\p{L}\p{N}])(?:${alternatives.join('|')})(?![\p{L}\p{N}]|${DECIMALS})`;
  const pattern = new RegExp(words, 'giu');
  const eraseText = (text: string): string => replaceInStoredForm(text, pattern, ERASED);
  const eraseJson = (json: string): string =>
    json.replaceAll(JSON_STRING, (token, kept: string | undefined) => {
      if (kept !== undefined) return kept;
      const text = JSON.parse(token) as string;
      const erased = eraseText(text);
      return erased === text ? token : JSON.stringify(erased);
    });
  return { finds: (text) => eraseText(text) !== text, eraseText, eraseJson };
}

/** Two of them make an amount; another number after a comma is the next one of a list. */
const DECIMALS = String.raw`[.,]\p{N}{2}(?!\p{N})`;

const DIGITS = /^\+?[0-9]+$/;

const escape = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);

const toPattern = (term: string): string =>
  DIGITS.test(term)
    ? Array.from(term, escape).join(String.raw`[\s-]?`)
    : term.trim().split(/\s+/).map(escape).join(String.raw`\s+`);

/**
 * What stands in `text` in the places where `erased` has ERASED; null if nothing is erased, or if the texts differ
 * elsewhere.
 */
export function erasedTermsOf(erased: string, text: string): string[] | null {
  if (!erased.includes(ERASED)) return null;
  const [first = '', ...others] = erased.split(ERASED);
  if (!text.startsWith(first)) return null;
  const terms: string[] = [];
  let start = first.length;
  for (const [index, other] of others.entries()) {
    // The last place reaches to the end of the text; an earlier one has a character at the least.
    const isLast = index === others.length - 1;
    const end = isLast ? text.length - other.length : text.indexOf(other, start + 1);
    if (end <= start || !text.startsWith(other, end)) return null;
    terms.push(text.slice(start, end));
    start = end + other.length;
  }
  return terms;
}
