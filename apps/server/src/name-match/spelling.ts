/**
 * Words that are read the same get the same key. Indonesian spelling changed in 1947 (oe became u) and in 1972 (tj, dj, j,
 * nj, sj, ch became c, j, y, ny, sy, kh), and names kept the old one, the new one or a mixture; Arabic and European names
 * are written by ear.
 */

const VOWELS = 'AEIOU';
const isVowel = (character: string): boolean => character !== '' && VOWELS.includes(character);
const isConsonant = (character: string): boolean => character !== '' && !VOWELS.includes(character);

/** How the letters that have two readings are read. */
interface Reading {
  /** `CH` as in Chandra (C) or as in Achmad (H). */
  readonly ch: 'C' | 'H';
  /** `J` as in Jusuf, for Yusuf. */
  readonly oldJ: boolean;
}

/** An H after these is only written: Ramadhan, Thohir. */
const SILENT_H_AFTER = 'TDBGRJZWLN';

function keyOf(text: string, { ch, oldJ }: Reading): string {
  const { length } = text;
  let key = '';
  for (let index = 0; index < length; index++) {
    const letter = text.charAt(index);
    const next = text.charAt(index + 1);
    const last = key.charAt(key.length - 1);
    let out = letter;
    switch (letter) {
      case 'O':
        if (next === 'E' || next === 'O') {
          out = 'U';
          index++;
        }
        break;
      case 'E':
        // Arief, Liem; Syaeful for Syaiful.
        if (last === 'I' && !isVowel(next)) out = '';
        else if (last === 'A') out = 'I';
        break;
      case 'T':
        if (next === 'J') {
          out = 'C';
          index++;
        }
        break;
      case 'D':
        if (next === 'J' || next === 'Z') {
          out = next === 'J' ? (oldJ ? 'Y' : 'J') : 'Z';
          index++;
        }
        break;
      case 'S':
        if ((next === 'J' || next === 'Y' || next === 'H') && isVowel(text.charAt(index + 2))) index++;
        break;
      case 'C':
        if (next === 'H') {
          out = isConsonant(text.charAt(index + 2)) && 'RL'.includes(text.charAt(index + 2)) ? 'K' : ch;
          index++;
        } else if (!isVowel(next) && next !== 'Y') out = 'K';
        break;
      case 'K':
        if (next === 'H') {
          out = 'H';
          index++;
        }
        break;
      case 'P':
        if (next === 'H') {
          out = 'F';
          index++;
        }
        break;
      case 'V':
        out = 'F';
        break;
      case 'Q':
        out = 'K';
        break;
      case 'X':
        out = 'KS';
        break;
      case 'W':
        if (last === 'U' && isVowel(next)) out = '';
        break;
      case 'H':
        if (next === 'J') {
          key += last === 'H' ? '' : 'H';
          out = 'I';
          index++;
        } else if (SILENT_H_AFTER.includes(text.charAt(index - 1)) && index > 0) out = '';
        else if (next === '' && isVowel(last)) out = '';
        break;
      case 'J':
        if (oldJ) out = readY(last, next);
        break;
      case 'Y':
        out = readY(last, next);
        break;
      default:
    }
    if (out !== '' && !(out === key.charAt(key.length - 1))) key += out;
  }
  return key;
}

/** Setyawan and Setiyawan for Setiawan, Rizky for Rizki; Yusuf and Bayu keep it. */
function readY(last: string, next: string): string {
  if (!isVowel(next)) return 'I';
  if (last === 'I') return '';
  return isConsonant(last) ? 'I' : 'Y';
}

/** Names whose forms no rule of letters joins; by key. */
const SAME_NAMES: ReadonlyMap<string, string> = new Map([
  ['MOHAMAD', 'MUHAMAD'],
  ['MOCAMAD', 'MUHAMAD'],
  ['MUCAMAD', 'MUHAMAD'],
  ['MOHAMED', 'MUHAMAD'],
  ['MUHAMED', 'MUHAMAD'],
  ['MOHAMAT', 'MUHAMAD'],
  ['MUHAMAT', 'MUHAMAD'],
  ['ACMAD', 'AHMAD'],
  ['AHMED', 'AHMAD'],
  ['AHMAT', 'AHMAD'],
]);
/** Arabic names as Javanese and Sundanese say them; by key. */
const SIMILAR_NAMES: ReadonlyMap<string, string> = new Map([
  ['ROHMAN', 'RAHMAN'],
  ['ROHMAT', 'RAHMAT'],
  ['ROHIM', 'RAHIM'],
  ['ROMADON', 'RAMADAN'],
  ['ROMADAN', 'RAMADAN'],
  ['MUBAROK', 'MUBARAK'],
  ['ROSAK', 'RASAK'],
  ['ROPIK', 'RAPIK'],
  ['ROSID', 'RASID'],
  ['SOLEH', 'SALEH'],
  ['SOLE', 'SALE'],
  ['SOLIHIN', 'SALIHIN'],
  ['OTMAN', 'USMAN'],
  ['UTMAN', 'USMAN'],
]);

/** In Abdurrahman the article's L is assimilated: R, S, D, T, N, Z. */
function withoutArticle(key: string): string {
  return key.length > 6 && key.startsWith('ABDUL') && 'RSDTNZ'.includes(key.charAt(5)) ? `ABDU${key.slice(5)}` : key;
}

/** Words without any of these are their own key. */
const SPELLED_SPECIALLY = /[VQXYJ]|C(?![AEIOU])|[KPTDBGRZWLNS]H|H$|OE|OO|AE|IE|DZ|UW|ABDUL|(.)\1/;

const OLD_LETTERS = ['DJ', 'TJ', 'OE', 'SJ'];
const MODERN: Reading = { ch: 'C', oldJ: false };
const OLD: Reading = { ch: 'C', oldJ: true };
const OLD_WITH_H: Reading = { ch: 'H', oldJ: true };
const MODERN_WITH_H: Reading = { ch: 'H', oldJ: false };

/** A word's key by safe rules. Every word with an old pair of letters in it is read by the old spelling throughout. */
export function spellingKey(text: string): string {
  if (!SPELLED_SPECIALLY.test(text)) return SAME_NAMES.get(text) ?? text;
  return settle(keyOf(replacedOldJ(text), MODERN));
}

/** The key with `CH` read as in Achmad; the same as `spellingKey` for words without it. */
export function alternativeKey(text: string): string {
  return text.includes('CH') ? settle(keyOf(replacedOldJ(text), MODERN_WITH_H)) : spellingKey(text);
}

const settle = (key: string): string => withoutArticle(SAME_NAMES.get(key) ?? key);

/** The old J as Y, except in DJ, TJ, SJ and NJ, which the key reads itself. */
function replacedOldJ(text: string): string {
  if (!text.includes('J') || !OLD_LETTERS.some((letters) => text.includes(letters))) return text;
  let replaced = '';
  for (let index = 0; index < text.length; index++) {
    const letter = text.charAt(index);
    replaced += letter === 'J' && !'DTS'.includes(text.charAt(index - 1) || '-') ? 'Y' : letter;
  }
  return replaced;
}

/** A key by looser rules (J as Y, Z as S, F as P), under which different names meet as well. */
export function looseKey(text: string): string {
  const key = SPELLED_SPECIALLY.test(text) ? keyOf(text, text.includes('CH') ? OLD_WITH_H : OLD) : text;
  const settled = SAME_NAMES.get(key) ?? key;
  let loose = '';
  for (let index = 0; index < settled.length; index++) {
    const letter = settled.charAt(index);
    loose += letter === 'Z' ? 'S' : letter === 'F' ? 'P' : letter;
  }
  if (loose.endsWith('ND')) loose = loose.slice(0, -1);
  if (loose.endsWith('TIUS')) loose = `${loose.slice(0, -4)}SIUS`;
  return SIMILAR_NAMES.get(loose) ?? loose;
}
