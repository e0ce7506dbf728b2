/** Splits text into upper-case words without accents and punctuation, with masked letters as `*`. */

/** Names in SNAP and ISO 20022 have at most 140 characters; the rest of a longer text is not read. */
export const NAME_LENGTH_MAX = 140;
const LETTERS_MAX = 2 * NAME_LENGTH_MAX;
const WORDS_MAX = 24;

export const MASK = '*';

const ASCII = /^[\0-\x7f]*$/;
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;
const COMBINING_MARK = /\p{M}/u;
const MASK_CHARACTERS = new Set('*#_•●○■█×∗⁎✱'.split(''));
const APOSTROPHES = new Set("'`´‘’ʼʻ".split(''));
/** Letters that Unicode does not decompose into a Latin letter and an accent. */
const PLAIN_LETTERS: ReadonlyMap<string, string> = new Map([
  ['Ø', 'O'],
  ['Đ', 'D'],
  ['Ł', 'L'],
  ['Æ', 'AE'],
  ['Œ', 'OE'],
]);

type Kind = 'letter' | 'mask' | 'dot' | 'ignored' | 'and' | 'gap';

function kindOf(code: number, character: string): Kind {
  if ((code >= 65 && code <= 90) || (code >= 48 && code <= 57)) return 'letter';
  if (code === 32) return 'gap';
  if (code === 46) return 'dot';
  if (code === 38) return 'and';
  if (MASK_CHARACTERS.has(character)) return 'mask';
  if (APOSTROPHES.has(character)) return 'ignored';
  if (code < 128) return 'gap';
  if (LETTER_OR_DIGIT.test(character)) return 'letter';
  return COMBINING_MARK.test(character) ? 'ignored' : 'gap';
}

/** Nearly every name that banks send: it is split without a look at each character. */
const PLAIN = /^[A-Z0-9 ]*$/;

const upperCase = (text: string): string =>
  ASCII.test(text) ? text.toUpperCase() : text.normalize('NFKD').toUpperCase().slice(0, LETTERS_MAX);

/**
 * The words of a name, at most 24. A dot between letters stays in its word (`S.KOM`), since only the tables of degrees
 * and company forms tell whether it joins or divides. Two or more dots are masked letters, as some banks print them.
 */
export function chunksOf(text: string): string[] {
  const upper = upperCase(text.slice(0, NAME_LENGTH_MAX));
  if (PLAIN.test(upper)) return plainChunksOf(upper);
  const chunks: string[] = [];
  let chunk = '';
  let dots = 0;
  const end = () => {
    if (chunk !== '') chunks.push(withMaskedTail(chunk));
    chunk = '';
  };
  for (const character of upper) {
    const kind = kindOf(character.charCodeAt(0), character);
    if (kind === 'dot') {
      dots++;
      if (dots === 2) chunk += MASK;
      if (dots >= 2) chunk += MASK;
      continue;
    }
    if (kind === 'letter') {
      if (dots === 1 && chunk !== '') chunk += '.';
      chunk += PLAIN_LETTERS.get(character) ?? character;
    } else if (kind === 'mask') chunk += MASK;
    else if (kind !== 'ignored') end();
    if (kind === 'and') chunks.push('DAN');
    dots = 0;
  }
  end();
  return chunks.slice(0, WORDS_MAX);
}

function plainChunksOf(upper: string): string[] {
  const chunks: string[] = [];
  let start = 0;
  while (start < upper.length && chunks.length < WORDS_MAX) {
    const space = upper.indexOf(' ', start);
    const end = space === -1 ? upper.length : space;
    if (end > start) chunks.push(withMaskedTail(upper.slice(start, end)));
    start = end + 1;
  }
  return chunks;
}

/** Some banks mask letters with X: `DEXX LEXXXXX`. No name ends in two X, and none contains three in a row. */
function withMaskedTail(chunk: string): string {
  if (!chunk.includes('XX')) return chunk;
  let masked = chunk;
  if (chunk.includes('XXX')) masked = masked.replaceAll(/X{3,}/g, (run) => MASK.repeat(run.length));
  if (masked.length > 2 && masked.endsWith('XX')) masked = `${masked.slice(0, -2)}${MASK}${MASK}`;
  return masked;
}

/** The words of a chunk with dots: `S.KOM` is one word if `isKnown` accepts it without dots, `M.RIZKY` is two. */
export function wordsWithin(chunk: string, isKnown: (compact: string) => boolean): string[] {
  const compact = chunk.replaceAll('.', '');
  return isKnown(compact) ? [compact] : chunk.split('.');
}

const SPARE_SPACE = /^\s|\s\s|\s$/;
const SPACES = /\s+/g;

/** The length as a bank counts it, without repeated, leading and trailing spaces. */
export function shownLength(text: string): number {
  const read = text.slice(0, NAME_LENGTH_MAX);
  return SPARE_SPACE.test(read) ? read.trim().replaceAll(SPACES, ' ').length : read.length;
}

const LATIN = /[A-Z]/;
const DIGIT = /[0-9]/;

export const isLatin = (word: string): boolean => LATIN.test(word) || DIGIT.test(word) || word.includes(MASK);
export const hasDigit = (word: string): boolean => DIGIT.test(word);

export function lettersOf(words: readonly string[]): number {
  let letters = 0;
  for (const word of words) letters += word.length;
  return letters;
}
