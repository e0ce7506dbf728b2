import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { UploadFault } from '../../apps/server/src/account-validations/uploads/upload.ts';
import { assertHarmless, createTestReader, MIB } from './harmless.ts';
import { assertRejected, readRows, XLSX_TYPE } from './uploads.ts';
import { HEADER_ROW, sheetOf, type WorkbookParts, workbook } from './workbook.ts';
import { zip } from './zip.ts';

const reader = createTestReader();
after(() => reader.close());

const assertHarmlessWorkbook = async (parts: WorkbookParts, code?: UploadFault['code']): Promise<void> =>
  assert.match(await assertHarmless(reader, XLSX_TYPE, workbook(parts), code), says(code));

/** Here, which is faster: that harm done in the other process does none here is seen with what is zipped. */
const assertRefusedWorkbook = (parts: WorkbookParts, code?: UploadFault['code']): Promise<void> =>
  assertRejected(XLSX_TYPE, workbook(parts), says(code), code);

/** Refused for what it is, not for having no rows. */
const says = (code: UploadFault['code'] = 'INVALID_FORMAT'): RegExp =>
  code === 'INVALID_FORMAT' ? /not a readable workbook/ : /workbook (?:is|contains) too|too much text/;

describe('a zip', () => {
  it('that unpacks to far more than it says is read no further than it says', () =>
    assertHarmlessWorkbook({ sheet: Buffer.alloc(100 * MIB, ' '), sheetDeclaredSize: 1_000 }));

  it('that says it unpacks to a gigabyte is not unpacked', () =>
    assertHarmlessWorkbook({ rows: HEADER_ROW, sheetDeclaredSize: 1024 * MIB }, 'PAYLOAD_TOO_LARGE'));

  it('of zips in zips is not opened further than the first', async () => {
    const nested = zip([{ name: 'xl/workbook.xml', data: zip([{ name: 'a', data: Buffer.alloc(10 * MIB) }]) }]);
    await assertHarmless(reader, XLSX_TYPE, nested);
  });

  it('of thousands of files, or with one name twice, is no workbook', async () => {
    const many = Array.from({ length: 5_000 }, (_, index) => ({ name: `xl/media/${index}.png`, data: '' }));
    await assertHarmlessWorkbook({ rows: HEADER_ROW, others: many });
    await assertHarmlessWorkbook({ rows: HEADER_ROW, others: [{ name: 'xl/worksheets/sheet1.xml', data: '' }] });
  });

  it('whose parts lie outside of it, or are encrypted, is no workbook', async () => {
    await assertHarmlessWorkbook({ rows: HEADER_ROW, others: [{ name: '../../etc/passwd', data: '' }] });
    await assertHarmlessWorkbook({
      others: [{ name: 'xl/worksheets/sheet2.xml', data: 'x', flags: 1 }],
      sheets: '<sheet r:id="rId2"/>',
    });
  });

  it('cut anywhere is refused', async () => {
    const whole = workbook({ rows: HEADER_ROW });
    for (let length = 1; length < whole.length; length += 13) {
      await assertRejected(XLSX_TYPE, whole.subarray(0, length), /not a readable workbook/);
    }
  });
});

describe('XML', () => {
  const inSheet = (rows: string): Promise<void> => assertRefusedWorkbook({ rows: HEADER_ROW + rows });

  it('with entities of its own, which expand or fetch, is refused', async () => {
    const entities = Array.from(
      { length: 9 },
      (_, index) => `<!ENTITY e${index + 1} "${`&e${index};`.repeat(10)}">`,
    ).join('');
    const doctype = `<!DOCTYPE x [<!ENTITY e0 "ha"><!ENTITY f SYSTEM "file:///etc/passwd">${entities}]>`;
    const worksheet = sheetOf(HEADER_ROW).replace(/^<[^>]*>/, '');
    await assertRefusedWorkbook({ sheet: doctype + worksheet });
    for (const entity of ['e9', 'f'])
      await assertRefusedWorkbook({ sheet: `${doctype}<worksheet>&${entity};</worksheet>` });
  });

  it('of endless depth, attributes, names or comments is refused', async () => {
    await inSheet('<a>'.repeat(10_000) + '</a>'.repeat(10_000));
    await inSheet(`<row ${Array.from({ length: 10_000 }, (_, index) => `xmlns:a${index}=""`).join(' ')}/>`);
    await inSheet(`<row r="${'1'.repeat(2 * MIB)}"/>`);
    await inSheet(`<${'a'.repeat(2 * MIB)}/>`);
    await inSheet(`<!--${' '.repeat(2 * MIB)}-->`);
  });

  /** Regression: 25,000 rows with 250 attributes each, 313 KB zipped, were read for 15 seconds. */
  it('of millions of elements and attributes, or thousands of names, is refused before it has taken long', async () => {
    const attributes = Array.from({ length: 250 }, (_, index) => ` a${index}=""`).join('');
    await assertRefusedWorkbook({ rows: HEADER_ROW + `<row${attributes}/>`.repeat(25_000) }, 'PAYLOAD_TOO_LARGE');
    // All parts together.
    const sharedStrings = '<a/>'.repeat(2_500_000);
    await assertRefusedWorkbook({ rows: HEADER_ROW + sharedStrings, sharedStrings }, 'PAYLOAD_TOO_LARGE');
    await inSheet(Array.from({ length: 1_000 }, (_, index) => `<row a${index}="" b${index}=""/>`).join(''));
  });

  it('of more texts than a workbook needs is refused, shared by nobody or by every cell', async () => {
    await assertRefusedWorkbook({ rows: HEADER_ROW, sharedStrings: '<si/>'.repeat(600_000) }, 'PAYLOAD_TOO_LARGE');
    await assertRefusedWorkbook(
      { rows: HEADER_ROW, sharedStrings: `<si><t>${'x'.repeat(512)}</t></si>`.repeat(35_000) },
      'PAYLOAD_TOO_LARGE',
    );
    const rows = '<row><c t="s"><v>0</v></c><c t="s"><v>0</v></c></row>'.repeat(40_000);
    const sharedStrings = `<si><t>${'x'.repeat(512)}</t></si>`;
    await assertRefusedWorkbook({ rows: HEADER_ROW + rows, sharedStrings }, 'PAYLOAD_TOO_LARGE');
  });

  it('that says it has a billion cells is believed in nothing, and what it has is read', async () => {
    const sheet = sheetOf(`${HEADER_ROW}<row r="2"><c r="A2" t="inlineStr"><is><t>014</t></is></c><c r="XFD2"/></row>`);
    const body = workbook({ sheet: sheet.replace('A1:D3', 'A1:XFD1048576') });
    assert.equal((await readRows(XLSX_TYPE, body)).length, 1);
    const blank = workbook({ rows: `${HEADER_ROW}${'<row/>'.repeat(100_000)}` });
    await assertRejected(XLSX_TYPE, blank, /contains no accounts/);
  });

  it('of one text without end is refused, and one as long as a cell can have is a fault of its row', async () => {
    const cell = (length: number): string => `<row><c t="inlineStr"><is><t>${'1'.repeat(length)}</t></is></c></row>`;
    await inSheet(cell(2 * MIB));
    const [row] = await readRows(XLSX_TYPE, workbook({ rows: HEADER_ROW + cell(32_767) }));
    assert.match(row?.fault ?? '', /^bank_code is longer/);
  });
});
