import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import writeWorkbook from 'write-excel-file/node';
import { COLUMNS } from '../../apps/server/src/account-validations/uploads/rows.ts';
import type { UploadMediaType } from '../../apps/server/src/account-validations/uploads/upload.ts';
import { CSV_TYPE, JSON_TYPE, readRows, XLSX_TYPE } from './uploads.ts';

/** Text that a cell may contain, or null. */
type Value = string | null;

const special = fc.constantFrom(
  '"',
  ',',
  ';',
  "'",
  ' ',
  '<',
  '&',
  ']]>',
  '_x0041_',
  '=1+1',
  '0',
  '\u00a0',
  '\u2028',
  '😀',
  'é',
);
const text = fc
  .array(fc.oneof(special, fc.string({ unit: 'binary', maxLength: 5 })), { maxLength: 8 })
  // The library that writes workbooks drops noncharacters and their replacement character. A byte order mark at the
  // start of a file is not part of its text.
  .map((parts) => parts.join('').replaceAll(/[\p{Cc}\p{Noncharacter_Code_Point}\ufffd\ufeff]/gu, ''));
const value: fc.Arbitrary<Value> = fc.oneof(
  { weight: 5, arbitrary: text.map((each) => (each === '' ? null : each)) },
  { weight: 1, arbitrary: fc.constant(null) },
);
// Blank rows of a table are skipped, so no row is blank here.
const row = fc.tuple(value, value, value, value).filter((cells) => cells.some((cell) => (cell ?? '').trim() !== ''));
const table = fc.record({
  rows: fc.array(row, { minLength: 1, maxLength: 30 }),
  order: fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }),
  delimiter: fc.constantFrom(',', ';'),
  lineEnd: fc.constantFrom('\n', '\r\n'),
  mark: fc.constantFrom('', '\uFEFF'),
});

async function assertRead(mediaType: UploadMediaType, body: Buffer | string, rows: readonly Value[][], first: number) {
  const read = await readRows(mediaType, body);
  const expected = rows.map(([bankCode, accountNumber, expectedAccountName, reference], index) => {
    const rowNumber = index + first;
    return { rowNumber, bankCode, accountNumber, expectedAccountName, reference, fault: null };
  });
  assert.deepEqual(read, expected);
}

const quoted = (cell: string): string => `"${cell.replaceAll('"', '""')}"`;

/** Excel escapes this; the library leaves it to its caller. */
const escaped = (cell: string): string => cell.replaceAll(/_(?=x[\dA-Fa-f]{4}_)/g, '_x005F_');

test('any table of text, written as CSV, JSON or XLSX, is read back unchanged', async (t) => {
  const seed = Number(process.env['FC_SEED'] ?? randomInt(2 ** 31));
  t.diagnostic(`FC_SEED=${seed}`);
  await fc.assert(
    fc.asyncProperty(table, async ({ rows, order, delimiter, lineEnd, mark }) => {
      const ordered = <Cell>(cells: readonly Cell[]): Cell[] => order.flatMap((place) => cells.slice(place, place + 1));
      const cells = [ordered(COLUMNS), ...rows.map((each) => ordered(each))];
      const lines = cells.map((line) => line.map((cell) => quoted(cell ?? '')).join(delimiter) + lineEnd);
      await assertRead(CSV_TYPE, mark + lines.join(''), rows, 2);

      const accounts = rows.map((each) => Object.fromEntries(COLUMNS.map((column, place) => [column, each[place]])));
      await assertRead(JSON_TYPE, JSON.stringify({ accounts }), rows, 1);

      const sheet = cells.map((line) =>
        line.map((cell) => (cell === null ? null : { value: escaped(cell), type: String })),
      );
      await assertRead(XLSX_TYPE, await writeWorkbook(sheet).toBuffer(), rows, 2);
    }),
    { seed, numRuns: 150 },
  );
});
