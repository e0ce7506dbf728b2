import type { Cell } from '../rows.ts';
import { damaged } from './parts.ts';

const AS_TEXT = 'format the column as text and type the values again';
/** Nothing becomes text by itself: as a number, an account has lost its leading zeros and, past 15 digits, its last ones. */
const NUMBER = { fault: `is a number: ${AS_TEXT}` };
const BOOLEAN = { fault: `is TRUE or FALSE: ${AS_TEXT}` };
const DATE = { fault: `is a date: ${AS_TEXT}` };
const ERROR = { fault: `is a formula's error: mend it, or ${AS_TEXT}` };

/**
 * What a cell holds, by its type (ECMA-376, part 1, section 18.18.11, ST_CellType). Of a formula it is the result that
 * the spreadsheet program left. @throws UnreadableUpload
 */
export function readCell(type: string, text: string, sharedStrings: readonly string[]): Cell {
  if (text === '') return null;
  switch (type) {
    case 's':
      return sharedStrings[Number(text)] ?? refuse();
    case 'str':
    case 'inlineStr':
      return unescapeText(text);
    case 'n':
      return NUMBER;
    case 'b':
      return BOOLEAN;
    case 'd':
      return DATE;
    case 'e':
      return ERROR;
    default:
      return refuse();
  }
}

const ESCAPED = /_x([\dA-Fa-f]{4})_/g;

/** Characters that XML does not have are written by their number: ECMA-376, part 1, section 22.9.2.19 (ST_Xstring). */
export const unescapeText = (text: string): string =>
  text.includes('_x')
    ? text.replaceAll(ESCAPED, (_whole, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    : text;

function refuse(): never {
  throw damaged();
}
