import { tooLarge } from '../upload.ts';
import { damaged, type Parts } from './parts.ts';
import { readXml } from './xml.ts';

/** The content of a cell. */
export type SheetCell = string | TypedCell;

/** A value that is not text, as the sheet writes it. */
export interface TypedCell {
  readonly kind: 'number' | 'boolean' | 'date' | 'error';
  readonly text: string;
}

/**
 * The content of a cell, by its type (ECMA-376, part 1, section 18.18.11, ST_CellType). For a formula it is the result
 * that the spreadsheet program has stored. Nothing is converted to text: a number has lost the leading zeros of the
 * account and, past 15 digits, its last ones. @throws UnreadableUpload
 */
export function readCell(type: string, text: string, sharedStrings: readonly string[]): SheetCell | null {
  if (text === '') return null;
  switch (type) {
    case 's':
      return sharedStrings[Number(text)] ?? throwDamaged();
    case 'str':
    case 'inlineStr':
      return unescapeText(text);
    case 'n':
      return { kind: 'number', text };
    case 'b':
      return { kind: 'boolean', text };
    case 'd':
      return { kind: 'date', text };
    case 'e':
      return { kind: 'error', text };
    default:
      return throwDamaged();
  }
}

const ESCAPED = /_x([\dA-Fa-f]{4})_/g;

/** Characters that XML cannot represent are written as their code: ECMA-376, part 1, section 22.9.2.19 (ST_Xstring). */
const unescapeText = (text: string): string =>
  text.includes('_x')
    ? text.replaceAll(ESCAPED, (_whole, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    : text;

/**
 * The texts that cells refer to by index (ECMA-376, part 1, section 18.4). Longer texts than a cell may have are cut.
 */
export async function readSharedStrings(parts: Parts, name: string | null): Promise<readonly string[]> {
  const { stringsMax, stringsLengthMax } = parts.limits;
  const part = name === null ? null : await parts.open(name);
  const strings: string[] = [];
  if (part === null) return strings;
  let textLength = 0;
  let text = '';
  // A text may consist of runs with different formats (r). Its phonetic runs (rPh) are not part of it.
  const t = {
    close(run: string) {
      text += run;
    },
  };
  const si = {
    open() {
      text = '';
    },
    close() {
      strings.push(unescapeText(text));
      textLength += text.length;
      if (strings.length > stringsMax || textLength > stringsLengthMax) {
        throw tooLarge({
          en: 'the workbook contains too much text: keep only the columns that are read, or send CSV',
          id: 'buku kerja berisi terlalu banyak teks: sisakan kolom yang dibaca saja, atau kirim CSV',
        });
      }
    },
    inside: { t, r: { inside: { t } } },
  };
  await readXml(part, { sst: { inside: { si } } }, parts);
  return strings;
}

function throwDamaged(): never {
  throw damaged();
}
