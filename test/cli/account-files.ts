import writeWorkbook from 'write-excel-file/node';

/** A row of a file of accounts, with what is wrong with it. */
export interface FileRow {
  readonly kind: 'good' | 'repeated' | 'other-name' | 'eaten-zeros' | 'unknown-bank' | 'open-quote' | 'too-wide';
  readonly bank: string;
  readonly account: string;
  readonly name: string;
  readonly note: string;
}

export const isGood = ({ kind }: FileRow): boolean => ['good', 'repeated', 'other-name'].includes(kind);

/** The names of the columns, as an Indonesian payroll has them. */
const HEADER = ['No', 'Kode Bank', 'No. Rekening', 'Nama', 'Catatan'] as const;

/** A letter that each encoding writes in its own way. */
const HOLDER = 'JOSÉ NÚÑEZ';

/** Every kind of fault, at places that any larger number of rows has too. `banks` have no length of their numbers. */
export function accountRows(count: number, banks: readonly string[]): FileRow[] {
  const rows: FileRow[] = [];
  for (let index = 0; index < count; index += 1) {
    const good: FileRow = {
      kind: 'good',
      bank: banks[index % banks.length] ?? '',
      account: `00${2_000_000_000 + index * 7_919}`,
      name: HOLDER,
      note: index % 9 === 0 ? 'first; second, "third"' : `row ${index}`,
    };
    const earlier = rows[index - 3];
    if (index % 40 === 11) rows.push({ ...good, kind: 'open-quote' });
    else if (index % 40 === 22) rows.push({ ...good, kind: 'too-wide' });
    else if (index % 40 === 33) rows.push({ ...good, kind: 'unknown-bank', bank: 'BANK X' });
    else if (index % 40 === 16) rows.push({ ...good, kind: 'eaten-zeros', bank: 'BCA', account: '12345678' });
    else if (earlier?.kind === 'good' && index % 10 === 5) rows.push({ ...earlier, kind: 'repeated' });
    else if (earlier?.kind === 'good' && index % 20 === 7)
      rows.push({ ...earlier, kind: 'other-name', name: 'BUDI SANTOSO' });
    else rows.push(good);
  }
  return rows;
}

export interface WrittenFile {
  readonly bytes: Buffer;
  /** For each row its line in the file and the cells that the results must repeat. */
  readonly expected: readonly { readonly line: number; readonly cells: readonly string[] }[];
}

export interface CsvForm {
  readonly delimiter: ',' | ';' | '\t';
  readonly encoding: 'utf-8' | 'utf-8 with mark' | 'utf-16le' | 'windows-1252';
}

/** With blank lines, cells over several lines, and lines that no reader can divide into cells. */
export function csvFile(rows: readonly FileRow[], { delimiter, encoding }: CsvForm): WrittenFile {
  const quoted = (text: string): string => (/[",;\t\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  let text = `${HEADER.join(delimiter)}\r\n`;
  let line = 2;
  const expected = rows.map((row, index) => {
    const note = index % 70 === 4 ? 'two\nlines' : row.note;
    const cells = [String(index + 1), row.bank, row.account, row.name, note];
    if (index % 30 === 9) {
      text += '\r\n';
      line += 1;
    }
    const start = line;
    const written = cells.map(quoted).join(delimiter);
    if (row.kind === 'open-quote') {
      const raw = [row.bank, `"${row.account}`, row.name].join(delimiter);
      text += `${raw}\r\n`;
      line += 1;
      return { line: start, cells: [raw, '', '', '', ''] };
    }
    if (row.kind === 'too-wide') {
      const raw = [...cells.slice(0, 4), 'one', 'more'].join(delimiter);
      text += `${raw}\r\n`;
      line += 1;
      return { line: start, cells: [raw, '', '', '', ''] };
    }
    text += `${written}\r\n`;
    line += written.split('\n').length;
    return { line: start, cells };
  });
  return { bytes: encode(text, encoding), expected };
}

function encode(text: string, encoding: CsvForm['encoding']): Buffer {
  if (encoding === 'utf-16le') return Buffer.from(`\uFEFF${text}`, 'utf16le');
  if (encoding === 'windows-1252') return Buffer.from(text, 'latin1');
  return Buffer.from(encoding === 'utf-8' ? text : `\uFEFF${text}`);
}

/** The same rows as a workbook, where a number that has lost its zeros is in a cell that is a number. */
export async function workbookFile(rows: readonly FileRow[]): Promise<WrittenFile> {
  const expected = rows.map((row, index) => {
    const account = row.kind === 'open-quote' ? '' : row.account;
    const bank = row.kind === 'too-wide' ? '' : row.bank;
    return { line: index + 2, cells: [String(index + 1), bank, account, row.name, row.note] };
  });
  const sheet = expected.map(({ cells }, index) =>
    cells.map((value, column) =>
      column === 0 || (column === 2 && rows[index]?.kind === 'eaten-zeros')
        ? { value: Number(value), type: Number }
        : { value, type: String },
    ),
  );
  const header = HEADER.map((value) => ({ value, type: String }));
  return { bytes: await writeWorkbook([header, ...sheet]).toBuffer(), expected };
}
