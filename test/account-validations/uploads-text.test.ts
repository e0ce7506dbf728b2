import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it, test } from 'node:test';
import { assertRejected, CSV_TYPE, JSON_TYPE, readRows, summaryOf } from './uploads.ts';

const csv = (...lines: readonly string[]): Promise<string[]> =>
  readRows(CSV_TYPE, lines.join('\n')).then((rows) => rows.map(summaryOf));
const accounts = (...list: readonly unknown[]): string => JSON.stringify({ accounts: list });

test('the CSV and JSON examples of the documentation are the same accounts', async () => {
  const page = readFileSync(new URL('../../docs/account-validations.md', import.meta.url), 'utf8');
  const example = (language: string): string => new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(page)?.[1] ?? '';
  const fromJson = await readRows(JSON_TYPE, example('json'));
  const fromCsv = await readRows(CSV_TYPE, example('csv'));
  assert.deepEqual(
    fromCsv.map(({ bankCode, accountNumber, reference }) => [bankCode, accountNumber, reference]),
    fromJson.map(({ bankCode, accountNumber, reference }) => [bankCode, accountNumber, reference]),
  );
  assert.deepEqual(
    fromCsv.map(({ fault, rowNumber }) => [fault, rowNumber]),
    [
      [null, 2],
      [null, 3],
    ],
  );
});

describe('a CSV', () => {
  it('may have its columns in any order and case, with other columns between them', async () => {
    assert.deepEqual(await csv(' Account_Number ,No,BANK_CODE', '0012345678,1,014', '0023456789,2,BCA'), [
      '2 014 0012345678 - -',
      '3 BCA 0023456789 - -',
    ]);
  });

  it('may come as spreadsheet programs write it: byte order mark, semicolons, CRLF, blank rows', async () => {
    const text =
      '\uFEFFbank_code;account_number;expected_account_name\r\n' +
      '014;0012345678;"BUDI; ""B"" S, SH"\r\n;;\r\n\r\n008;1;\r\n';
    assert.deepEqual((await readRows(CSV_TYPE, text)).map(summaryOf), [
      '2 014 0012345678 BUDI; "B" S, SH -',
      '5 008 1 - -',
    ]);
  });

  it('numbers a row by the line on which it starts, also after a cell of several lines', async () => {
    const rows = await readRows(CSV_TYPE, 'bank_code,account_number\r\n"0\r\n14",1\r\n\r\n008,2');
    assert.deepEqual(rows.map(summaryOf), ['2 - 1 - -', '5 008 2 - -']);
    assert.equal(rows[0]?.fault?.en, 'bank_code contains a character that cannot be printed');
  });

  it('may omit cells at the end of a row; an extra cell is a fault of its row', async () => {
    const rows = await readRows(CSV_TYPE, 'bank_code,account_number,reference\n014,1\n014,2,A,B\n014,3,C,,');
    assert.deepEqual(rows.map(summaryOf), ['2 014 1 - -', '3 014 2 - A', '4 014 3 - C']);
    assert.match(rows[1]?.fault?.en ?? '', /more cells than the header row/);
    assert.equal(rows[2]?.fault, null);
  });

  it('is rejected as a whole, with the line of the fault', async () => {
    const header = 'bank_code,account_number';
    await assertRejected(CSV_TYPE, '', /the file is empty/);
    await assertRejected(CSV_TYPE, '\n \n', /the file is empty/);
    await assertRejected(CSV_TYPE, header, /contains no accounts/);
    await assertRejected(CSV_TYPE, 'bank_code,name\n014,1', /the header row lacks account_number/);
    await assertRejected(CSV_TYPE, `${header}, Bank_Code\n014,1,014`, /has bank_code twice/);
    await assertRejected(CSV_TYPE, `${header}\n014,1\n014,"2\n014,3`, /line 3 opens a quotation mark/);
    await assertRejected(CSV_TYPE, `${header}\n"014"x,1`, /line 2 continues after a closing/);
    await assertRejected(CSV_TYPE, `${header}\n014,1\n0"14,1`, /line 3 has a quotation mark inside/);
    await assertRejected(CSV_TYPE, Buffer.from(`${header}\n014,1`, 'utf16le'), /header row lacks/);
    await assertRejected(CSV_TYPE, Buffer.from(`\uFEFF${header}\n014,1`, 'utf16le'), /not UTF-8/);
    await assertRejected(CSV_TYPE, Buffer.from(`${header}\n014,Jos\u00e9`, 'latin1'), /not UTF-8/);
    await assertRejected(CSV_TYPE, `${header}\n${'014,1\n'.repeat(50_001)}`, /50000 rows/, 'PAYLOAD_TOO_LARGE');
    await assertRejected(CSV_TYPE, `${header}${'\n'.repeat(100_001)}`, /100000 lines/, 'PAYLOAD_TOO_LARGE');
  });
});

describe('JSON', () => {
  it('numbers its accounts from 1, and takes nothing, null and "" for none', async () => {
    const body = accounts(
      { bank_code: '014', account_number: '0012345678', expected_account_name: 'Budi Santoso', reference: 'A-1' },
      { bank_code: '014', account_number: null, reference: '', other: [1] },
      {},
    );
    assert.deepEqual((await readRows(JSON_TYPE, body)).map(summaryOf), [
      '1 014 0012345678 Budi Santoso A-1',
      '2 014 - - -',
      '3 - - - -',
    ]);
  });

  it('converts nothing: every value that is not a string is named in the fault of its row', async () => {
    const list = [{ bank_code: 14, account_number: 12345678 }, { bank_code: true, account_number: {} }, 7, null];
    const rows = await readRows(JSON_TYPE, accounts(...list));
    assert.deepEqual(
      rows.map(({ fault }) => fault?.en),
      [
        'bank_code is a number: send it as a string; account_number is a number: send it as a string',
        'bank_code is not a string; account_number is not a string',
        'is not a JSON object',
        'is not a JSON object',
      ],
    );
    assert.ok(rows.every(({ bankCode, accountNumber }) => bankCode === null && accountNumber === null));
  });

  it('rejects text that is too long or cannot be printed, row by row', async () => {
    const bad = ['1'.repeat(513), '12\u00003', '12\t3', '12\u009f3', '12\ud8003'];
    const rows = await readRows(
      JSON_TYPE,
      accounts(...bad.map((each) => ({ bank_code: '014', account_number: each }))),
    );
    assert.deepEqual(
      rows.map(summaryOf),
      bad.map((_, index) => `${index + 1} 014 - - -`),
    );
    assert.ok(rows.every(({ fault }) => fault?.en.startsWith('account_number ')));
    const [longest] = await readRows(JSON_TYPE, accounts({ bank_code: '1'.repeat(512) }));
    assert.equal(longest?.fault, null);
  });

  it('is rejected as a whole when it cannot be read', async () => {
    await assertRejected(JSON_TYPE, '', /not valid JSON/);
    await assertRejected(JSON_TYPE, '{"accounts":[{"bank_code":"014",}]}', /line 1 column 33/);
    await assertRejected(JSON_TYPE, '[]', /object with an array accounts/);
    await assertRejected(JSON_TYPE, '{"accounts":{}}', /object with an array accounts/);
    await assertRejected(JSON_TYPE, '{"__proto__":{"accounts":[{}]}}', /object with an array accounts/);
    await assertRejected(JSON_TYPE, '{"accounts":[]}', /contains no accounts/);
    await assertRejected(JSON_TYPE, '{"accounts":[{"bank_code":"014","bank_code":"008"}]}', /has one field twice/);
    await assertRejected(JSON_TYPE, '{"accounts":[{"a":[{"b":1,"\\u0062":1}]}]}', /has one field twice/);
    await assertRejected(JSON_TYPE, Buffer.from('{"accounts":["\u00e9"]}', 'latin1'), /not UTF-8/);
    await assertRejected(
      JSON_TYPE,
      accounts(...Array.from({ length: 50_001 }, () => ({}))),
      /50000 rows/,
      'PAYLOAD_TOO_LARGE',
    );
  });
});
