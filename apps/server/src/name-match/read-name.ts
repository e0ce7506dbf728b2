import { type Company, isForm, takeCompany } from './company-forms.ts';

import { isDegree, type Titles, takeDegrees, takeTitles } from './titles-and-degrees.ts';
import { chunksOf, wordsWithin } from './words.ts';

/** One party's name, split into its parts. */
export interface Name {
  /** The words of the name itself. */
  readonly words: readonly string[];
  readonly titles: Titles;
  readonly degrees: readonly string[];
  readonly company: Company | null;
}

export interface ReadName {
  readonly whole: Name;
  /** The parties, if there are several: `BUDI QQ RINA`, `BUDI & RINA`. Otherwise empty. */
  readonly parties: readonly Name[];
  readonly isDeceased: boolean;
}

const DECEASED = new Set(['ALM', 'ALMH', 'ALMARHUM', 'ALMARHUMAH']);
const AND_OR = new Set(['DAN', 'ATAU', 'OR', 'AND']);
/** One party holds the account on behalf of the other (qualitate qua). */
const FOR_ANOTHER = new Set(['QQ']);

const isWordWithDots = (compact: string): boolean => compact === 'QQ' || isForm(compact) || isDegree(compact);

export function readName(text: string): ReadName {
  const words: string[] = [];
  let isDeceased = false;
  let isForAnother = false;
  let isAndOr = false;
  for (const chunk of chunksOf(text)) {
    if (chunk.includes('.')) words.push(...wordsWithin(chunk, isWordWithDots));
    else words.push(chunk);
    const last = words.at(-1) ?? '';
    if (last === 'QQ') isForAnother = true;
    else if (AND_OR.has(last)) isAndOr = true;
    else if (DECEASED.has(last) || (last === 'WARIS' && words.at(-2) === 'AHLI')) isDeceased = true;
  }
  if (isDeceased) dropDeceased(words);
  const whole = nameOf(isForAnother ? words.filter((word) => word !== 'QQ') : words);
  let parties: readonly Name[] = [];
  if (isForAnother) parties = divide(words, FOR_ANOTHER).map(nameOf);
  else if (isAndOr && whole.company === null) parties = divide(words, AND_OR).map(nameOf);
  return { whole, parties, isDeceased };
}

function nameOf(source: readonly string[]): Name {
  const words = [...source];
  const company = takeCompany(words);
  if (company !== null) return { words, titles: { found: [], gender: null }, degrees: [], company };
  const degrees = takeDegrees(words);
  const titles = takeTitles(words);
  return { words, titles, degrees, company };
}

/** Marks of deceased persons and of heirs (`AHLI WARIS`) are not part of a name. */
function dropDeceased(words: string[]): void {
  for (let index = words.length - 1; index >= 0 && words.length > 1; index--) {
    const isHeirs = words[index] === 'AHLI' && words[index + 1] === 'WARIS';
    if (isHeirs || DECEASED.has(words[index] ?? '')) words.splice(index, isHeirs ? 2 : 1);
  }
}

function divide(words: readonly string[], dividers: ReadonlySet<string>): string[][] {
  const parts: string[][] = [[]];
  for (const word of words) {
    if (dividers.has(word)) parts.push([]);
    else parts.at(-1)?.push(word);
  }
  return parts.filter((part) => part.length > 0);
}
