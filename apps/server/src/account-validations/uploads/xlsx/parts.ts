import type { Readable } from 'node:stream';
import yauzl from 'yauzl';
import { invalid, tooLarge, UnreadableUpload } from '../upload.ts';

/** How much of a workbook is read at most. */
export interface WorkbookLimits {
  /** All parts that are read, uncompressed. */
  readonly bytesMax: number;
  /** Elements and attributes of all parts that are read. Each takes about a microsecond. */
  readonly markupMax: number;
  /** The shared strings of all sheets, including the sheets that are not read. */
  readonly stringsMax: number;
  readonly stringsLengthMax: number;
  /** Longer text is cut after one character more, by which a reader can tell. */
  readonly cellLengthMax: number;
}

/** The parts of a workbook: the files in its zip (ECMA-376, part 2). */
export interface Parts {
  readonly limits: WorkbookLimits;
  /** Null when no part has this name. The stream fails when the part is longer than the zip directory states. */
  open(name: string): Promise<Readable | null>;
  /** Counts one element or attribute, in any part. @throws UnreadableUpload when there are too many */
  countMarkup(): void;
}

/** A workbook has about a dozen parts; one with a picture in every row has some hundreds. */
const PARTS_MAX = 4_096;

/** The signature of a compound file: a workbook with a password, or one in the format from before 2007. */
const COMPOUND_FILE = Buffer.from('d0cf11e0a1b11ae1', 'hex');

/** The fault of every file that no spreadsheet program would write. */
export const damaged = (): UnreadableUpload =>
  invalid({
    en: 'the file is not a readable workbook: open it in a spreadsheet program and save it as .xlsx, or as CSV',
    id: 'berkas bukan buku kerja yang dapat dibaca: buka di aplikasi spreadsheet, lalu simpan sebagai .xlsx atau CSV',
  });

const tooLargeUnzipped = (): UnreadableUpload =>
  tooLarge({
    en: 'the workbook is too large when unzipped: keep only the columns that are read, or send CSV',
    id: 'buku kerja terlalu besar setelah diekstrak: sisakan kolom yang dibaca saja, atau kirim CSV',
  });

/** @throws UnreadableUpload */
export async function openParts(body: Buffer, limits: WorkbookLimits): Promise<Parts> {
  if (body.subarray(0, COMPOUND_FILE.length).equals(COMPOUND_FILE)) {
    throw invalid({
      en: 'the workbook has a password or is in the old .xls format: save it as .xlsx without a password',
      id: 'buku kerja memiliki kata sandi atau berformat lama .xls: simpan sebagai .xlsx tanpa kata sandi',
    });
  }
  const { zip, entries } = await readDirectory(body);
  let bytesLeft = limits.bytesMax;
  let markupLeft = limits.markupMax;
  return {
    limits,
    async open(name) {
      const entry = entries.get(name.toLowerCase());
      if (entry === undefined) return null;
      // The stream fails when the part is longer than this size, so the stated size can be trusted here.
      bytesLeft -= entry.uncompressedSize;
      if (bytesLeft < 0) throw tooLargeUnzipped();
      return zip.openReadStreamPromise(entry).catch(() => {
        throw damaged();
      });
    },
    countMarkup() {
      markupLeft -= 1;
      if (markupLeft < 0) throw tooLargeUnzipped();
    },
  };
}

async function readDirectory(body: Buffer): Promise<{ zip: yauzl.ZipFile; entries: ReadonlyMap<string, yauzl.Entry> }> {
  try {
    const zip = await yauzl.fromBufferPromise(body);
    const entries = new Map<string, yauzl.Entry>();
    for await (const entry of zip.eachEntry()) {
      // Names are case-insensitive. Of two parts with one name, some readers take the first and some the second.
      const name = entry.fileName.toLowerCase();
      if (entries.has(name) || entries.size === PARTS_MAX) throw damaged();
      entries.set(name, entry);
    }
    return { zip, entries };
  } catch {
    throw damaged();
  }
}
