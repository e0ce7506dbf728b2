import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { suite, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { codesOf } from '../../apps/server/src/domain/bank.ts';
import { readAccountNumber } from '../../packages/cli/src/check-file/account-number.ts';
import { createBankDirectory } from '../../packages/cli/src/check-file/bank-directory.ts';
import { decodeText } from '../../packages/cli/src/check-file/decode.ts';
import { findColumns } from '../../packages/cli/src/check-file/find-columns.ts';
import { divideAccounts } from '../../packages/cli/src/check-file/plan.ts';
import { readAccountFile } from '../../packages/cli/src/check-file/read-file.ts';
import { resultChunks } from '../../packages/cli/src/check-file/result-file.ts';
import { type Cell, type Table, textOf, UnusableFile } from '../../packages/cli/src/check-file/table.ts';
import type { Bank } from '../../packages/client/src/index.ts';
import { testBanks } from '../support/service.ts';

const BANKS: readonly Bank[] = testBanks.list().map((bank) => ({
  bank_code: bank.clearingCode ?? bank.bic,
  bic: bank.clearingCode === null ? null : bank.bic,
  bank_name: bank.name,
  short_names: bank.shortNames,
  type: bank.unit === 'e_wallet' ? 'E_WALLET' : bank.unit === 'alias_directory' ? 'ALIAS_DIRECTORY' : 'BANK',
  account_number_type:
    bank.unit === 'e_wallet' ? 'MOBILE_NUMBER' : bank.unit === 'alias_directory' ? 'ALIAS' : 'ACCOUNT_NUMBER',
  account_number_length: bank.accountNumberLength ?? null,
  check_account: true,
  status: 'UP',
  since: null,
  account_checks: null,
  disbursements: null,
}));
const directory = createBankDirectory(BANKS);

async function read(content: string | Buffer): Promise<Table> {
  const options = { encoding: null, delimiter: null, sheet: null };
  return (await readAccountFile(Buffer.from(content), options)).table;
}

const rowsOf = (table: Table): readonly unknown[] => table.rows.map(({ line, cells }) => [line, ...cells]);

suite('reading a CSV', () => {
  test('the encoding is that of the mark, or what the bytes can be', () => {
    const text = 'bank,nama\r\nBCA,JOSÉ €\r\n';
    const encodings = {
      'utf-8': Buffer.from(text),
      'utf-16le': Buffer.from(text, 'utf16le'),
      'windows-1252': Buffer.from(text.replace('€', '\x80'), 'latin1'),
    } as const;
    for (const [encoding, bytes] of Object.entries(encodings)) {
      assert.deepEqual(decodeText(bytes, null), { text, encoding, hasByteOrderMark: false });
    }
    for (const encoding of ['utf8', 'utf16le'] as const) {
      const marked = decodeText(Buffer.from(`\uFEFF${text}`, encoding), null);
      assert.deepEqual([marked.text, marked.hasByteOrderMark], [text, true]);
    }
  });

  test('commas, semicolons, tabs, and the first line by which Excel states one', async () => {
    for (const delimiter of [',', ';', '\t']) {
      const table = await read(`bank${delimiter}no rek\nBCA${delimiter}"1${delimiter}2"\n`);
      assert.deepEqual([table.delimiter, rowsOf(table)], [delimiter, [[2, 'BCA', `1${delimiter}2`]]]);
    }
    assert.deepEqual(rowsOf(await read('sep=;\r\nbank;no rek\r\nBCA;1,5\r\n')), [[3, 'BCA', '1,5']]);
  });

  test('a line with a fault takes no other line with it', async () => {
    const table = await read(
      'bank,account,name\n\nBCA,"123,A\nBRI,456,"Santoso, B"\nBNI,789,B "C" D\nBTN,1,"two\nlines"\nBCA,1,B,C\nDKI,2,C\nBCA,"3',
    );
    assert.deepEqual(
      table.rows.map(({ line, fault }) => [line, fault?.split(':')[0] ?? null]),
      [
        [3, 'opens a quotation mark that is not closed'],
        [4, null],
        [5, 'has a quotation mark inside a cell'],
        [6, null],
        [8, 'has more cells than the header row'],
        [9, null],
        [10, 'opens a quotation mark that is not closed'],
      ],
    );
    assert.deepEqual(table.rows[3]?.cells, ['BTN', '1', 'two\nlines']);
    assert.deepEqual(table.rows[0]?.cells, ['BCA,"123,A']);
  });
});

suite('text of a quoted cell is never read as rows', () => {
  const rowOf = ({ rows }: Table) => rows.map(({ line, fault }) => [line, fault?.split(':')[0] ?? null]);

  test('lines with separators in a cell are one row with a fault, however many they are', async () => {
    for (const breaks of [1, 60]) {
      const cell = `note${'\n'.repeat(breaks)}BCA,9999999999,FORGED\n`;
      const table = await read(`bank,account,name\nBCA,1234567890,"${cell}"\nBRI,456,B\n`);
      const end = breaks + 3;
      assert.deepEqual(rowOf(table), [
        [2, `has a quoted cell with lines that look like rows (up to line ${end})`],
        [end + 1, null],
      ]);
      assert.match(textOf(table.rows[0]?.cells[0]), /FORGED/, 'the result has the text as it stands');
    }
  });

  test('a long address is one row; doubled marks and separators in a cell do not end it', async () => {
    const address = `"Jl. ""Raya"", 1${'\n'.repeat(55)}Jakarta"`;
    const table = await read(`bank,account,name,address\nBCA,1,A,${address}\nBRI,2,B,\n`);
    assert.deepEqual(rowOf(table), [
      [2, null],
      [58, null],
    ]);
  });
});

suite('any cells, in quotation marks or not', () => {
  const seed = Number(process.env['CSV_SEED'] ?? randomInt(2 ** 31));
  const WIDTH = 4;
  const BREAK = /\r\n|\n|\r/;
  const pieces = ['"', '""', "'", ',', ';', '\t', '\n', '\r\n', '\r', '=', '+', '-', '@', ' ', 'a', '7', 'É', '漢'];
  const cell = fc.string({ unit: fc.constantFrom(...pieces), maxLength: 8 });
  const row = fc.array(fc.tuple(cell, fc.boolean()), { minLength: WIDTH, maxLength: WIDTH });
  const delimiters = [',', ';', '\t'] as const;
  const encodings: Readonly<Record<string, (text: string) => Buffer>> = {
    'utf-8': (text) => Buffer.from(text),
    'utf-16le': (text) => Buffer.from(`\uFEFF${text}`, 'utf16le'),
    'windows-1252': (text) => Buffer.from(text.replaceAll('漢', 'É'), 'latin1'),
  };
  const drawn = [
    fc.array(row, { maxLength: 6 }),
    fc.constantFrom(...delimiters),
    fc.constantFrom(...Object.keys(encodings)),
  ] as const;

  /** Of each row that is not blank its line and cells; null in place of cells that have lines that look like rows. */
  function expectedOf(rows: readonly string[][], texts: readonly string[], delimiter: string): unknown[] {
    let line = 2;
    return rows.flatMap((cells, index): unknown[] => {
      const [, ...following] = texts[index]?.split(BREAK) ?? [];
      const start = line;
      line += following.length + 1;
      if (following.some((each) => each.split(delimiter).length >= WIDTH)) return [[start, null]];
      const read = cells.map((each) => each.split(BREAK).join('\n'));
      return read.every((each) => each.trim() === '') ? [] : [[start, read]];
    });
  }

  test('are read as they were written; the result repeats them, and no cell of it is a formula', async (context) => {
    context.diagnostic(`CSV_SEED=${seed}`);
    const property = fc.asyncProperty(...drawn, async (written, delimiter, encoding) => {
      const rows = written.map((cells) =>
        cells.map(([text]) => (encoding === 'windows-1252' ? text.replaceAll('漢', 'É') : text)),
      );
      const texts = rows.map((cells, index) =>
        cells
          .map((text, column) =>
            written[index]?.[column]?.[1] === true || /["\r\n]/.test(text) || text.includes(delimiter)
              ? `"${text.replaceAll('"', '""')}"`
              : text,
          )
          .join(delimiter),
      );
      const header = ['bank', 'account', 'name', 'note'].join(delimiter);
      const bytes = encodings[encoding]?.([header, ...texts, ''].join('\r\n')) ?? assert.fail();
      const { table } = await readAccountFile(bytes, { encoding: null, delimiter: null, sheet: null });
      assert.deepEqual(
        table.rows.map(({ line, cells, fault }) => [line, fault === null ? cells : null]),
        expectedOf(rows, texts, delimiter),
      );
      assertRepeated(table);
    });
    await fc.assert(property, { seed, numRuns: 200 });
  });

  const NO_ANSWER = {
    result: 'unknown',
    status: null,
    account_name: null,
    name_match: null,
    error_code: null,
    message: null,
    checked_at: null,
    warning: null,
  } as const;

  function assertRepeated(table: Table): void {
    const rows = table.rows.map((each) => ({ ...each, bank: null, account: null, rowFault: null, warning: null }));
    const chunks = resultChunks({ table, rows, answerOf: () => NO_ANSWER, hasByteOrderMark: true });
    const [, ...found] = parse([...chunks].join(''), { bom: true, delimiter: table.delimiter });
    const guardless = (cells: readonly Cell[]): string[] => cells.map((each) => textOf(each).replaceAll("'", ''));
    const padded = rows.map(({ cells }) => [...cells, '', '', ''].slice(0, WIDTH));
    assert.deepEqual(
      found.map((cells) => guardless(cells.slice(0, WIDTH))),
      padded.map(guardless),
    );
    assert.deepEqual(
      found.map((cells) => Number(cells[WIDTH])),
      rows.map(({ line }) => line),
    );
    // Some programs separate cells at semicolons.
    for (const text of found.flat().flatMap((each) => each.split(/[;\t\r\n]/)))
      assert.doesNotMatch(text, /^\s*[=+\-@]/);
  }
});

suite('reading NDJSON', () => {
  test('columns are the members of all objects; numbers keep their digits, whatever a nested object has', async () => {
    const table = await read(
      '{"bank":"BCA","account":"1"}\n\n{"account":90071992547409931,"x":{"account":5},"bank":"BRI"}\nno\n[1]\n',
    );
    assert.deepEqual(table.header, ['bank', 'account', 'x']);
    assert.deepEqual(rowsOf(table), [
      [1, 'BCA', '1'],
      [3, 'BRI', { kind: 'number', text: '90071992547409931' }, { kind: 'object', text: '{"account":5}' }],
      [4, 'no'],
      [5, '[1]'],
    ]);
    assert.deepEqual(
      table.rows.map(({ fault }) => fault === null),
      [true, true, false, false],
    );
  });
});

suite('the columns', () => {
  const find = (header: readonly string[], given: Partial<Record<'bank' | 'account' | 'name', string>> = {}) =>
    findColumns(header, { bank: null, account: null, name: null, ...given }, false);

  test('are found by English and Indonesian names, in any case and with any punctuation', () => {
    assert.deepEqual(find(['bank_code', 'ACCOUNT NUMBER', 'Name']), { bank: 0, account: 1, name: 2 });
    assert.deepEqual(find(['No', 'Nama', 'No. Rek', 'Kode-Bank']), { bank: 3, account: 2, name: 1 });
    assert.deepEqual(find(['Nama Bank', 'Kode Bank', 'Nomor Rekening']), { bank: 1, account: 2, name: null });
    assert.deepEqual(find(['Bank Tujuan', 'Rekening Tujuan', 'Atas Nama', 'Nama']), { bank: 0, account: 1, name: 2 });
  });

  test('are never guessed: the error shows what there is, and how to say it', () => {
    assert.throws(() => find(['Kode', 'Nomor Rekening']), {
      message:
        'which column holds the bank? none has a name that says so. The first row is read as the header row; it has: ' +
        'A "Kode", B "Nomor Rekening". Say it with --bank-column B, or --bank CODE if all rows have one bank',
    });
    assert.throws(
      () => find(['bank', 'No Rek', 'no_rek']),
      /2 columns may: B "No Rek", C "no_rek"\. Say it with --acc/,
    );
    assert.throws(() => find(['bank', 'x'], { account: 'y' }), UnusableFile);
  });

  test("the recipient's come before those that may be the payer's", () => {
    const found = find(['Bank', 'Nomor Rekening', 'Nama', 'Bank Tujuan', 'Nomor Rekening Tujuan', 'Nama Penerima']);
    assert.deepEqual(found, { bank: 3, account: 4, name: 5 });
    assert.equal(find(['bank', 'Account Number', 'Beneficiary Account Number']).account, 2);
    assert.equal(find(['bank', 'no_rek', 'no_rek_penerima', 'No HP Penerima']).account, 2);
  });

  test('two that may mean different accounts or people are undecided', () => {
    const which = (header: readonly string[]) => () => find(header);
    assert.throws(
      which(['bank', 'Nomor Rekening', 'Account']),
      /number\? 2 columns may: B "Nomor Rekening", C "Account"/,
    );
    assert.throws(which(['bank', 'Rekening Tujuan', 'Beneficiary Account']), /number\? 2 columns may: B .*, C /);
    assert.throws(
      which(['bank', 'account', 'Nama Rekening', 'Nama Penerima']),
      /name\? 2 columns may: C .*--name-column/,
    );
  });

  test('of a file without a header row: refused, and its first payee is not shown', () => {
    const header = ['BCA', '1234567890', 'BUDI SANTOSO'];
    for (const given of [{}, { bank: 'A' }, { bank: 'A', account: 'B' }, { bank: 'A', account: '9' }]) {
      assert.throws(
        () => find(header, given),
        ({ message }: Error) => {
          assert.match(message, /header row|no column "9"/);
          assert.doesNotMatch(message, /123456|BUDI|SANTOSO/);
          return true;
        },
      );
    }
    assert.throws(() => find(header, { bank: 'A', account: 'B' }), /Add a row with the names of the columns above it/);
  });

  test('names with what a terminal would obey are shown without it', () => {
    assert.throws(() => find(['kode\u001B[2J', 'account']), /A "kode�\[2J"/);
  });

  test('are said by name, letter or position', () => {
    const header = ['bank', 'x', 'No Rek'];
    for (const column of ['x', 'X', 'B', '2']) assert.equal(find(header, { account: column }).account, 1);
  });
});

suite('banks', () => {
  test('every code of the service finds the same bank here, and so does every full name', () => {
    for (const bank of testBanks.list()) {
      for (const code of [...codesOf(bank), bank.bic, bank.bic.toLowerCase(), bank.name, `PT. ${bank.name} Tbk`]) {
        const found = directory.find(code);
        assert.equal(found?.bic ?? found?.bank_code, bank.bic, code);
      }
    }
    assert.equal(directory.find('CENAIDJAXXX')?.bank_name, 'Bank Central Asia');
    assert.equal(directory.find('999'), null);
  });
});

suite('account numbers', () => {
  const bankOf = (code: string): Bank => directory.find(code) ?? assert.fail();
  const number = (text: string): Cell => ({ kind: 'number', text });

  test('are read as they are; lost zeros and rounded numbers are faults', () => {
    const cases: readonly (readonly [bank: string, cell: Cell, kind: string, value: string | null])[] = [
      ['BCA', '0012345678', 'number', '0012345678'],
      ['BCA', "'0012345678", 'number', '0012345678'],
      ['BCA', '12345678', 'zeros-lost', '0012345678'],
      ['BCA', number('12345678'), 'zeros-lost', '0012345678'],
      ['BCA', number('1234567890'), 'number', '1234567890'],
      ['BCA', number('1.234567890E9'), 'number', '1234567890'],
      ['BRI', number('1901000123304'), 'number', '1901000123304'],
      ['BRI', number('1234567890123456'), 'fault', null],
      ['BRI', number('12.5'), 'fault', null],
      ['BRI', '1,23457E+15', 'fault', null],
      ['BRI', '1234-5678', 'fault', null],
      ['BRI', '1234', 'fault', null],
      ['BRI', '', 'fault', null],
      ['GOPAY', '81234567890', 'zeros-lost', '081234567890'],
      ['GOPAY', '+6281234567890', 'number', '+6281234567890'],
      ['BIFAST', 'kartika@example.com', 'number', 'kartika@example.com'],
    ];
    for (const [bank, cell, kind, value] of cases) {
      const read = readAccountNumber(cell, bankOf(bank));
      const found = read.kind === 'number' ? read.number : read.kind === 'zeros-lost' ? read.restored : null;
      assert.deepEqual([read.kind, found], [kind, value], `${bank} ${JSON.stringify(cell)}`);
    }
  });

  test('a number in a cell that is no text has a warning, unless the bank says how many digits it has', () => {
    const warningOf = (bank: string) => {
      const read = readAccountNumber(number('1234567890'), bankOf(bank));
      return read.kind === 'number' ? read.warning : null;
    };
    assert.match(warningOf('BRI') ?? '', /zeros at its start would be lost/);
    assert.equal(warningOf('BCA'), null);
  });
});

test('parts cover all accounts once, within the limits, and divide no number unless it fills a part', () => {
  const numbers = fc.array(fc.integer({ min: 0, max: 8 }), { maxLength: 60 });
  fc.assert(
    fc.property(numbers, fc.integer({ min: 1, max: 12 }), (drawn, accountsMax) => {
      const accounts = drawn
        .sort((one, other) => one - other)
        .map((number, index) => ({
          bank_code: 'BRINIDJA',
          account_number: String(number),
          expected_account_name: `${index}`,
        }));
      const parts = divideAccounts(accounts, { accountsMax, bytesMax: 900 });
      let next = 0;
      for (const { first, count } of parts) {
        assert.equal(first, next);
        assert.ok(count >= 1 && count <= accountsMax);
        next = first + count;
        const [last, following] = [accounts[next - 1], accounts[next]];
        if (last?.account_number !== following?.account_number) continue;
        assert.equal(accounts[first]?.account_number, last?.account_number, 'a number is divided');
      }
      assert.equal(next, accounts.length);
    }),
  );
});
