import { tooLarge, UPLOAD_BYTES_MAX } from '../upload.ts';
import { unescapeText } from './cell.ts';
import type { Parts } from './parts.ts';
import { readXml } from './xml.ts';

/** The texts of all sheets, also of those that are not read. */
const STRINGS_MAX = 500_000;
const TEXT_LENGTH_MAX = UPLOAD_BYTES_MAX;

/** What cells name by its place (ECMA-376, part 1, section 18.4). Texts longer than a cell may be are cut. */
export async function readSharedStrings(parts: Parts, name: string | null): Promise<readonly string[]> {
  const part = name === null ? null : await parts.open(name);
  const strings: string[] = [];
  if (part === null) return strings;
  let textLength = 0;
  let text = '';
  // One text may come in runs of different looks (r); what is said of its pronunciation (rPh) is not part of it.
  const t = {
    close(piece: string) {
      text += piece;
    },
  };
  const si = {
    open() {
      text = '';
    },
    close() {
      strings.push(unescapeText(text));
      textLength += text.length;
      if (strings.length > STRINGS_MAX || textLength > TEXT_LENGTH_MAX) {
        throw tooLarge('the workbook holds too much text: keep only the columns that are read, or send CSV');
      }
    },
    inside: { t, r: { inside: { t } } },
  };
  await readXml(part, { sst: { inside: { si } } }, parts);
  return strings;
}
