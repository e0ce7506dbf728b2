import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { UploadFault } from '../../apps/server/src/account-validations/uploads/upload.ts';
import { assertRejectedSafely, createTestReader, MIB } from './hostile-upload.ts';
import { assertRejected, readRows, XLSX_TYPE } from './uploads.ts';
import { HEADER_ROW, sheetOf, type WorkbookParts, workbook } from './workbook.ts';
import { zip } from './zip.ts';

const reader = createTestReader();
after(() => reader.close());

const assertWorkbookRejectedSafely = async (parts: WorkbookParts, code?: UploadFault['code']): Promise<void> =>
  assert.match(await assertRejectedSafely(reader, XLSX_TYPE, workbook(parts), code), messageFor(code));

/** In this process, which is faster. The zip tests show that the child process protects this one. */
const assertWorkbookRejected = (parts: WorkbookParts, code?: UploadFault['code']): Promise<void> =>
  assertRejected(XLSX_TYPE, workbook(parts), messageFor(code), code);

/** The message for the fault itself, and not for missing rows. */
const messageFor = (code: UploadFault['code'] = 'INVALID_FORMAT'): RegExp =>
  code === 'INVALID_FORMAT' ? /not a readable workbook/ : /workbook (?:is|contains) too|too much text/;

describe('a zip', () => {
  it('that contains far more than its directory states is read no further than stated', () =>
    assertWorkbookRejectedSafely({ sheet: Buffer.alloc(100 * MIB, ' '), sheetDeclaredSize: 1_000 }));

  it('that states a gigabyte of content is not unzipped', () =>
    assertWorkbookRejectedSafely({ rows: HEADER_ROW, sheetDeclaredSize: 1024 * MIB }, 'PAYLOAD_TOO_LARGE'));

  it('inside a zip is not opened', async () => {
    const nested = zip([{ name: 'xl/workbook.xml', data: zip([{ name: 'a', data: Buffer.alloc(10 * MIB) }]) }]);
    await assertRejectedSafely(reader, XLSX_TYPE, nested);
  });

  it('with thousands of files, or one name twice, is not a workbook', async () => {
    const many = Array.from({ length: 5_000 }, (_, index) => ({ name: `xl/media/${index}.png`, data: '' }));
    await assertWorkbookRejectedSafely({ rows: HEADER_ROW, others: many });
    await assertWorkbookRejectedSafely({ rows: HEADER_ROW, others: [{ name: 'xl/worksheets/sheet1.xml', data: '' }] });
  });

  it('with parts outside of it, or encrypted parts, is not a workbook', async () => {
    await assertWorkbookRejectedSafely({ rows: HEADER_ROW, others: [{ name: '../../etc/passwd', data: '' }] });
    await assertWorkbookRejectedSafely({
      others: [{ name: 'xl/worksheets/sheet2.xml', data: 'x', flags: 1 }],
      sheets: '<sheet r:id="rId2"/>',
    });
  });

  it('that is cut off anywhere is rejected', async () => {
    const whole = workbook({ rows: HEADER_ROW });
    for (let length = 1; length < whole.length; length += 13) {
      await assertRejected(XLSX_TYPE, whole.subarray(0, length), /not a readable workbook/);
    }
  });
});

describe('XML', () => {
  const inSheet = (rows: string): Promise<void> => assertWorkbookRejected({ rows: HEADER_ROW + rows });

  it('with its own entities, which expand or fetch, is rejected', async () => {
    const entities = Array.from(
      { length: 9 },
      (_, index) => `<!ENTITY e${index + 1} "${`&e${index};`.repeat(10)}">`,
    ).join('');
    const doctype = `<!DOCTYPE x [<!ENTITY e0 "ha"><!ENTITY f SYSTEM "file:///etc/passwd">${entities}]>`;
    const worksheet = sheetOf(HEADER_ROW).replace(/^<[^>]*>/, '');
    await assertWorkbookRejected({ sheet: doctype + worksheet });
    for (const entity of ['e9', 'f'])
      await assertWorkbookRejected({ sheet: `${doctype}<worksheet>&${entity};</worksheet>` });
  });

  it('with extreme depth, attributes, names or comments is rejected', async () => {
    await inSheet('<a>'.repeat(10_000) + '</a>'.repeat(10_000));
    await inSheet(`<row ${Array.from({ length: 10_000 }, (_, index) => `xmlns:a${index}=""`).join(' ')}/>`);
    await inSheet(`<row r="${'1'.repeat(2 * MIB)}"/>`);
    await inSheet(`<${'a'.repeat(2 * MIB)}/>`);
    await inSheet(`<!--${' '.repeat(2 * MIB)}-->`);
  });

  /** Regression: reading 25,000 rows with 250 attributes each, 313 KB zipped, took 15 seconds. */
  it('with millions of elements and attributes, or thousands of names, is rejected quickly', async () => {
    const attributes = Array.from({ length: 250 }, (_, index) => ` a${index}=""`).join('');
    await assertWorkbookRejected({ rows: HEADER_ROW + `<row${attributes}/>`.repeat(25_000) }, 'PAYLOAD_TOO_LARGE');
    // The limit is for all parts together.
    const sharedStrings = '<a/>'.repeat(2_500_000);
    await assertWorkbookRejected({ rows: HEADER_ROW + sharedStrings, sharedStrings }, 'PAYLOAD_TOO_LARGE');
    await inSheet(Array.from({ length: 1_000 }, (_, index) => `<row a${index}="" b${index}=""/>`).join(''));
  });

  it('with more text than a workbook needs is rejected, whether no cell or every cell refers to it', async () => {
    await assertWorkbookRejected({ rows: HEADER_ROW, sharedStrings: '<si/>'.repeat(600_000) }, 'PAYLOAD_TOO_LARGE');
    await assertWorkbookRejected(
      { rows: HEADER_ROW, sharedStrings: `<si><t>${'x'.repeat(512)}</t></si>`.repeat(35_000) },
      'PAYLOAD_TOO_LARGE',
    );
    const rows = '<row><c t="s"><v>0</v></c><c t="s"><v>0</v></c></row>'.repeat(40_000);
    const sharedStrings = `<si><t>${'x'.repeat(512)}</t></si>`;
    await assertWorkbookRejected({ rows: HEADER_ROW + rows, sharedStrings }, 'PAYLOAD_TOO_LARGE');
  });

  it('that states a billion cells is read for the cells that it has', async () => {
    const sheet = sheetOf(`${HEADER_ROW}<row r="2"><c r="A2" t="inlineStr"><is><t>014</t></is></c><c r="XFD2"/></row>`);
    const body = workbook({ sheet: sheet.replace('A1:D3', 'A1:XFD1048576') });
    assert.equal((await readRows(XLSX_TYPE, body)).length, 1);
    const blank = workbook({ rows: `${HEADER_ROW}${'<row/>'.repeat(100_000)}` });
    await assertRejected(XLSX_TYPE, blank, /contains no accounts/);
  });

  it('with one huge text is rejected; a text of the longest cell is a fault of its row', async () => {
    const cell = (length: number): string => `<row><c t="inlineStr"><is><t>${'1'.repeat(length)}</t></is></c></row>`;
    await inSheet(cell(2 * MIB));
    const [row] = await readRows(XLSX_TYPE, workbook({ rows: HEADER_ROW + cell(32_767) }));
    assert.match(row?.fault?.en ?? '', /^bank_code is longer/);
  });
});
