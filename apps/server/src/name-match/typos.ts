/** Slips of the finger, told apart from other names. Most names that differ by a letter are two names. */

const LENGTH_MIN = 6;
const REPLACED_LENGTH_MIN = 8;
const VOWELS = 'AEIOU';
const isVowel = (letter: string): boolean => letter !== '' && VOWELS.includes(letter);

const ROWS = ['QWERTYUIOP', 'ASDFGHJKL', 'ZXCVBNM'];

/** On a keyboard, and not of a similar sound: M for N makes another name. */
function areNeighbours(one: string, other: string): boolean {
  if (isVowel(one) || isVowel(other) || (one === 'M' && other === 'N') || (one === 'N' && other === 'M')) return false;
  return ROWS.some((row, at) => {
    const place = row.indexOf(one);
    if (place === -1) return false;
    const nextRow = ROWS[at + 1] ?? '';
    const rowBefore = ROWS[at - 1] ?? '';
    return (
      (Math.abs(place - row.indexOf(other)) === 1 && row.includes(other)) ||
      [nextRow.charAt(place), nextRow.charAt(place - 1), rowBefore.charAt(place), rowBefore.charAt(place + 1)].includes(
        other,
      )
    );
  });
}

/** Whether one slip (a letter left out, added, swapped with the next, or hit beside) makes one word of the other. */
export function isTypo(one: string, other: string): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  if (long.length < LENGTH_MIN || long.length - short.length > 1) return false;
  let at = 0;
  while (at < short.length && short.charAt(at) === long.charAt(at)) at++;
  // The first letter is seldom mistyped, and the last ones tell Sumarni from Sumarno and Kristina from Kristian.
  if (at === 0) return false;
  if (at >= short.length - 1) return endsBroken(short, long, at);
  return short.length < long.length
    ? isLeftOut(short, long, at)
    : isSwapped(short, long, at) || isReplaced(short, long, at);
}

function isLeftOut(short: string, long: string, at: number): boolean {
  if (short.slice(at) !== long.slice(at + 1)) return false;
  // Kristiana and Kristina, Suardana and Sardana: a vowel beside a vowel makes another name.
  return !(isVowel(long.charAt(at)) && (isVowel(long.charAt(at - 1)) || isVowel(long.charAt(at + 1))));
}

/** Kurniawn: hardly a name ends in two consonants, so that the vowel between them was left out. */
function endsBroken(short: string, long: string, at: number): boolean {
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
    areNeighbours(one.charAt(at), other.charAt(at))
  );
}
