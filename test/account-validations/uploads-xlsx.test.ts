import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRejected, readRows, summaryOf, XLSX_TYPE } from './uploads.ts';
import { HEADER_ROW, sheetOf, type WorkbookParts, workbook } from './workbook.ts';
import { zip } from './zip.ts';

const read = (parts: WorkbookParts): Promise<string[]> =>
  readRows(XLSX_TYPE, workbook(parts)).then((rows) => rows.map(summaryOf));

describe('a workbook', () => {
  it('is read as Excel writes it: shared strings, rich text, omitted rows and cells', async () => {
    const sharedStrings =
      '<si><t>bank_code</t></si><si><t xml:space="preserve"> Account_Number </t></si><si><t>Catatan</t></si>' +
      '<si><t>014</t></si>' +
      '<si><r><rPr><b/></rPr><t>00123</t></r><r><t>45678</t></r><rPh sb="0" eb="1"><t>x</t></rPh></si>' +
      '<si><t>reference</t></si><si><t>A &amp; B &#x2F; 1</t></si><si><t/></si>';
    const rows =
      '<row r="2" spans="1:4"><c r="A2" s="1" t="s"><v>0</v></c><c r="B2" t="s"><v>2</v></c>' +
      '<c r="C2" t="s"><v>1</v></c><c r="D2" t="s"><v>5</v></c></row>' +
      '<row r="3"/>' +
      '<row r="4"><c r="A4" t="s"><v>3</v></c><c r="B4"><v>44927</v></c>' +
      '<c r="C4" t="s"><v>4</v></c><c r="D4" t="s"><v>6</v></c></row>' +
      '<row r="5"><c r="A5" s="3"/><c r="B5" t="s"><v>2</v></c><c r="C5" t="s"><v>7</v></c></row>' +
      '<row r="1048576"><c r="C1048576" t="s"><v>4</v></c><c r="XFD1048576" s="3"/></row>';
    assert.deepEqual(await read({ rows, sharedStrings }), ['4 014 0012345678 - A & B / 1', '1048576 - 0012345678 - -']);
  });

  it('is read as other programs write it: inline strings, no references, prefixes, other sheets first', async () => {
    const row = (...cells: string[]): string =>
      `<x:row>${cells.map((cell) => `<x:c t="inlineStr"><x:is><x:t>${cell}</x:t></x:is></x:c>`).join('')}</x:row>`;
    const inSheet = row('bank_code', 'account_number') + row('014', '00<![CDATA[<1>]]>_x0041_');
    const sheet = `<x:worksheet xmlns:x="urn:any"><x:sheetData>${inSheet}</x:sheetData></x:worksheet>`;
    const sheets =
      '<sheet name="Chart" sheetId="3" r:id="rId3"/>' +
      '<sheet name="Hidden" sheetId="1" state="hidden" r:id="rId1"/>' +
      '<sheet name="Rows" sheetId="2" r:id="rId2"/>';
    const others = [{ name: 'XL/worksheets/Sheet2.xml', data: sheet }];
    assert.deepEqual(await read({ sheets, others }), ['2 014 00<1>A - -']);
  });

  it('takes the text result of a formula, and converts nothing that is not text', async () => {
    const cell = (row: number, attributes: string, value: string): string =>
      `<row r="${row}"><c r="A${row}" t="inlineStr"><is><t>014</t></is></c>` +
      `<c r="B${row}"${attributes}>${value}</c></row>`;
    const rows =
      HEADER_ROW +
      cell(2, ' t="str"', '<f>TEXT(C2,"0000000000")</f><v>0012345678</v>') +
      cell(3, '', '<v>12345678</v>') +
      cell(4, ' t="n"', '<f>1+1</f><v>2</v>') +
      cell(5, ' t="b"', '<v>1</v>') +
      cell(6, ' t="e"', '<f>1/0</f><v>#DIV/0!</v>') +
      cell(7, ' t="d"', '<v>2026-11-21</v>') +
      cell(8, ' t="inlineStr"', `<is><t>${'1'.repeat(513)}</t></is>`);
    const all = await readRows(XLSX_TYPE, workbook({ rows }));
    assert.deepEqual(all.map(summaryOf), [
      '2 014 0012345678 - -',
      ...[3, 4, 5, 6, 7, 8].map((row) => `${row} 014 - - -`),
    ]);
    const faults = all.map(({ fault }) => fault?.en.replace(/^account_number (.*?):.*$/, '$1') ?? null);
    assert.deepEqual(faults.slice(0, 6), [
      null,
      'is a number',
      'is a number',
      'is TRUE or FALSE',
      'is the error of a formula',
      'is a date',
    ]);
    assert.equal(faults[6], 'account_number is longer than 512 characters');
  });

  it('is rejected as a whole when it cannot be read', async () => {
    const assertPartsRejected = (parts: WorkbookParts, message: RegExp): Promise<void> =>
      assertRejected(XLSX_TYPE, workbook(parts), message);
    const unreadable = /not a readable workbook/;
    await assertRejected(XLSX_TYPE, '', unreadable);
    await assertRejected(XLSX_TYPE, 'bank_code,account_number', unreadable);
    await assertRejected(XLSX_TYPE, zip([{ name: 'a.txt', data: 'a' }]), unreadable);
    await assertRejected(XLSX_TYPE, zip([]), unreadable);
    await assertRejected(XLSX_TYPE, workbook({ rows: HEADER_ROW }).subarray(0, -40), unreadable);
    await assertRejected(
      XLSX_TYPE,
      Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(512)]),
      /password/,
    );
    await assertPartsRejected({}, /first sheet is empty/);
    await assertPartsRejected({ rows: HEADER_ROW }, /contains no accounts/);
    await assertPartsRejected({ sheets: '' }, /no sheet with cells/);
    await assertPartsRejected({ rows: HEADER_ROW.replace('account_number', 'bank_code') }, /has bank_code twice/);
    await assertPartsRejected({ rows: HEADER_ROW.replace('account_number', 'account') }, /lacks account_number/);
    await assertPartsRejected({ sheet: '<worksheet><sheetData>' }, unreadable);
    await assertPartsRejected({ sheet: Buffer.from(sheetOf(HEADER_ROW), 'utf16le') }, unreadable);
    await assertPartsRejected({ others: [{ name: 'XL/Workbook.xml', data: '' }] }, unreadable);
    const broken = [
      '<row r="0"/>',
      '<row r="1048577"/>',
      '<row r="2"/><row r="2"/>',
      '<row r="2"><c r="XFE2"/></row>',
      '<row r="2"><c r="A3"/></row>',
      '<row r="2"><c r="B2"/><c r="A2"/></row>',
      '<row r="2"><c r="A2" t="s"><v>0</v></c></row>',
      '<row r="2"><c r="A2" t="other"><v>0</v></c></row>',
      '<row r="2"><c r="A2" t="inlineStr"><is><t>&nbsp;</t></is></c></row>',
    ];
    for (const row of broken) await assertPartsRejected({ rows: HEADER_ROW + row }, unreadable);
  });
});
