/** Distinguishes typos from different names. Most names that differ by one letter are two names. */

const LENGTH_MIN = 6;
const REPLACED_LENGTH_MIN = 8;
const VOWELS = 'AEIOU';
const isVowel = (letter: string): boolean => letter !== '' && VOWELS.includes(letter);

const ROWS = ['QWERTYUIOP', 'ASDFGHJKL', 'ZXCVBNM'];

/** Whether two keys are adjacent on a keyboard and the letters do not sound alike: M for N makes another name. */
function areAdjacentKeys(one: string, other: string): boolean {
  if (isVowel(one) || isVowel(other) || (one === 'M' && other === 'N') || (one === 'N' && other === 'M')) return false;
  return ROWS.some((row, at) => {
    const column = row.indexOf(one);
    if (column === -1) return false;
    const nextRow = ROWS[at + 1] ?? '';
    const rowBefore = ROWS[at - 1] ?? '';
    return (
      (Math.abs(column - row.indexOf(other)) === 1 && row.includes(other)) ||
      [
        nextRow.charAt(column),
        nextRow.charAt(column - 1),
        rowBefore.charAt(column),
        rowBefore.charAt(column + 1),
      ].includes(other)
    );
  });
}

/**
 * Whether one typo turns one word into the other: a letter that is missing, added, swapped with the next one, or
 * replaced with that of an adjacent key.
 */
export function isTypo(one: string, other: string): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  if (long.length < LENGTH_MIN || long.length - short.length > 1) return false;
  let at = 0;
  while (at < short.length && short.charAt(at) === long.charAt(at)) at++;
  // The first letter is seldom mistyped, and the last letters distinguish Sumarni from Sumarno, Kristina from Kristian.
  if (at === 0) return false;
  if (at >= short.length - 1) return isVowelMissingAtEnd(short, long, at);
  return short.length < long.length
    ? isLetterMissing(short, long, at)
    : isSwapped(short, long, at) || isReplaced(short, long, at);
}

function isLetterMissing(short: string, long: string, at: number): boolean {
  if (short.slice(at) !== long.slice(at + 1)) return false;
  // Kristiana and Kristina, Suardana and Sardana: a vowel next to a vowel makes another name.
  return !(isVowel(long.charAt(at)) && (isVowel(long.charAt(at - 1)) || isVowel(long.charAt(at + 1))));
}

/** Kurniawn: hardly any name ends in two consonants, so the vowel between them is missing. */
function isVowelMissingAtEnd(short: string, long: string, at: number): boolean {
  if (at !== short.length - 1 || long.length === short.length || short.charAt(at) !== long.charAt(at + 1)) return false;
  return isVowel(long.charAt(at)) && !isVowel(long.charAt(at - 1)) && !isVowel(long.charAt(at + 1));
}

function isSwapped(one: string, other: string, at: number): boolean {
  return (
    at < one.length - 2 &&
    one.charAt(at) === other.charAt(at + 1) &&
    one.charAt(at + 1) === other.charAt(at) &&
    one.slice(at + 2) === other.slice(at + 2)
  );
}

function isReplaced(one: string, other: string, at: number): boolean {
  return (
    one.length >= REPLACED_LENGTH_MIN &&
    at < one.length - 2 &&
    one.slice(at + 1) === other.slice(at + 1) &&
    areAdjacentKeys(one.charAt(at), other.charAt(at))
  );
}
