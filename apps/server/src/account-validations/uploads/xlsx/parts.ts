import type { Readable } from 'node:stream';
import yauzl from 'yauzl';
import { invalid, tooLarge, UnreadableUpload } from '../upload.ts';

/** The parts of a workbook: the files in its zip (ECMA-376, part 2). */
export interface Parts {
  /** Null when there is none of this name. The stream fails when it holds more than it said. */
  open(name: string): Promise<Readable | null>;
  /** One piece of markup more, in whichever part. @throws UnreadableUpload when there are too many */
  countMarkup(): void;
}

/** A workbook has a dozen; one with pictures on every row has some hundreds. */
const PARTS_MAX = 4_096;
/** Of all parts that are read, uncompressed: 50,000 rows of twelve columns take 45 MB. */
const BYTES_MAX = 64 * 1024 * 1024;
/** Of all parts that are read, elements and attributes together: 50,000 rows of twelve columns have 3.6 million. Each takes a microsecond. */
const MARKUP_MAX = 5_000_000;

/** A compound file: a workbook behind a password, or one from before 2007. */
const COMPOUND_FILE = Buffer.from('d0cf11e0a1b11ae1', 'hex');

/** Whatever a workbook is that no spreadsheet program writes. */
export const damaged = (): UnreadableUpload =>
  invalid('the file is not a readable workbook: open it in a spreadsheet program and save it as .xlsx, or as CSV');

const tooLargeInside = (): UnreadableUpload =>
  tooLarge('the workbook is too large inside: keep only the columns that are read, or send CSV');

/** @throws UnreadableUpload */
export async function openParts(body: Buffer): Promise<Parts> {
  if (body.subarray(0, COMPOUND_FILE.length).equals(COMPOUND_FILE)) {
    throw invalid('the workbook has a password or is of the old .xls kind: save it as .xlsx without a password');
  }
  const { zip, entries } = await readDirectory(body);
  let bytesLeft = BYTES_MAX;
  let markupLeft = MARKUP_MAX;
  return {
    async open(name) {
      const entry = entries.get(name.toLowerCase());
      if (entry === undefined) return null;
      // The stream ends in an error where the part is longer than it says, so that what is said can be counted.
      bytesLeft -= entry.uncompressedSize;
      if (bytesLeft < 0) throw tooLargeInside();
      return zip.openReadStreamPromise(entry).catch(() => {
        throw damaged();
      });
    },
    countMarkup() {
      markupLeft -= 1;
      if (markupLeft < 0) throw tooLargeInside();
    },
  };
}

async function readDirectory(body: Buffer): Promise<{ zip: yauzl.ZipFile; entries: ReadonlyMap<string, yauzl.Entry> }> {
  try {
    const zip = await yauzl.fromBufferPromise(body);
    const entries = new Map<string, yauzl.Entry>();
    for await (const entry of zip.eachEntry()) {
      // Names are the same in upper and lower case, and of two parts with one name readers take one or the other.
      const name = entry.fileName.toLowerCase();
      if (entries.has(name) || entries.size === PARTS_MAX) throw damaged();
      entries.set(name, entry);
    }
    return { zip, entries };
  } catch {
    throw damaged();
  }
}
