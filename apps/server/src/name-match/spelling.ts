/**
 * Words that are pronounced the same get the same key. Indonesian spelling changed in 1947 (oe became u) and in 1972
 * (tj, dj, j, nj, sj, ch became c, j, y, ny, sy, kh). Names kept the old spelling, took the new one or mix both; Arabic
 * and European names are spelled by ear.
 */

const VOWELS = 'AEIOU';
const isVowel = (character: string): boolean => character !== '' && VOWELS.includes(character);
const isConsonant = (character: string): boolean => character !== '' && !VOWELS.includes(character);

/** The pronunciation of letters that have two. */
interface Reading {
  /** `CH` as in Chandra (C) or as in Achmad (H). */
  readonly ch: 'C' | 'H';
  /** `J` as in Jusuf, for Yusuf. */
  readonly oldJ: boolean;
}

/** An H after these letters is silent: Ramadhan, Thohir. */
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
        out = readE(last, next);
        break;
      case 'T':
      case 'D':
      case 'K':
      case 'P': {
        const pair = readPair(letter, next, oldJ);
        if (pair !== '') {
          out = pair;
          index++;
        }
        break;
      }
      case 'S':
        if ((next === 'J' || next === 'Y' || next === 'H') && isVowel(text.charAt(index + 2))) index++;
        break;
      case 'C':
        if (next === 'H') {
          out = isConsonant(text.charAt(index + 2)) && 'RL'.includes(text.charAt(index + 2)) ? 'K' : ch;
          index++;
        } else if (!isVowel(next) && next !== 'Y') out = 'K';
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
        } else if (isSilentH(text, index, last)) out = '';
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

/** Arief, Liem; Syaeful for Syaiful. */
function readE(last: string, next: string): string {
  if (last === 'I' && !isVowel(next)) return '';
  return last === 'A' ? 'I' : 'E';
}

/** Two letters that are read as one: TJ, DJ, DZ, KH, PH. Empty if the two are read separately. */
function readPair(letter: string, next: string, oldJ: boolean): string {
  if (letter === 'T') return next === 'J' ? 'C' : '';
  if (letter === 'K') return next === 'H' ? 'H' : '';
  if (letter === 'P') return next === 'H' ? 'F' : '';
  if (next === 'Z') return 'Z';
  if (next !== 'J') return '';
  return oldJ ? 'Y' : 'J';
}

const isSilentH = (text: string, index: number, last: string): boolean =>
  (index > 0 && SILENT_H_AFTER.includes(text.charAt(index - 1))) || (index === text.length - 1 && isVowel(last));

/** Setyawan and Setiyawan for Setiawan, Rizky for Rizki; Yusuf and Bayu keep the Y. */
function readY(last: string, next: string): string {
  if (!isVowel(next)) return 'I';
  if (last === 'I') return '';
  return isConsonant(last) ? 'I' : 'Y';
}

/** Forms of one name that no rule for letters connects, by key. */
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
/** Arabic names in Javanese and Sundanese pronunciation, by key. */
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

/** A word without any of these is its own key. */
const HAS_SPECIAL_SPELLING = /[VQXYJ]|C(?![AEIOU])|[KPTDBGRZWLNS]H|H$|OE|OO|AE|IE|DZ|UW|ABDUL|(.)\1/;

const OLD_LETTERS = ['DJ', 'TJ', 'OE', 'SJ'];
const MODERN: Reading = { ch: 'C', oldJ: false };
const OLD: Reading = { ch: 'C', oldJ: true };
const OLD_WITH_H: Reading = { ch: 'H', oldJ: true };
const MODERN_WITH_H: Reading = { ch: 'H', oldJ: false };

/** A word's key by safe rules. A word that contains a pair of letters of the old spelling is read in that spelling. */
export function spellingKey(text: string): string {
  if (!HAS_SPECIAL_SPELLING.test(text)) return SAME_NAMES.get(text) ?? text;
  return normalizeKey(keyOf(replaceOldJ(text), MODERN));
}

/** The key with `CH` read as in Achmad; the same as `spellingKey` for words without `CH`. */
export function alternativeKey(text: string): string {
  return text.includes('CH') ? normalizeKey(keyOf(replaceOldJ(text), MODERN_WITH_H)) : spellingKey(text);
}

const normalizeKey = (key: string): string => withoutArticle(SAME_NAMES.get(key) ?? key);

/** Replaces the old J with Y, except in DJ, TJ, SJ and NJ, which `keyOf` reads itself. */
function replaceOldJ(text: string): string {
  if (!text.includes('J') || !OLD_LETTERS.some((letters) => text.includes(letters))) return text;
  let replaced = '';
  for (let index = 0; index < text.length; index++) {
    const letter = text.charAt(index);
    replaced += letter === 'J' && !'DTS'.includes(text.charAt(index - 1) || '-') ? 'Y' : letter;
  }
  return replaced;
}

/** A key by looser rules (J as Y, Z as S, F as P), which different names may share. */
export function looseKey(text: string): string {
  const key = HAS_SPECIAL_SPELLING.test(text) ? keyOf(text, text.includes('CH') ? OLD_WITH_H : OLD) : text;
  const normalized = SAME_NAMES.get(key) ?? key;
  let loose = '';
  for (let index = 0; index < normalized.length; index++) {
    const letter = normalized.charAt(index);
    loose += letter === 'Z' ? 'S' : letter === 'F' ? 'P' : letter;
  }
  if (loose.endsWith('ND')) loose = loose.slice(0, -1);
  if (loose.endsWith('TIUS')) loose = `${loose.slice(0, -4)}SIUS`;
  return SIMILAR_NAMES.get(loose) ?? loose;
}
