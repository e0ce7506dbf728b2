import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvLine } from '../../apps/server/src/http/account-validations/result-csv.ts';
import type { ResultJson } from '../../apps/server/src/http/account-validations/result-json.ts';
import { csvRow } from '../../apps/server/src/lib/csv.ts';

const RESULT: ResultJson = {
  sequence: 1,
  row: 1,
  reference: null,
  bank_code: null,
  bank_name: null,
  account_number: null,
  expected_account_name: null,
  account_name: null,
  is_valid: null,
  status: null,
  name_match: null,
  error_code: null,
  message: null,
  checked_at: '2026-11-22T00:00:00.000Z',
};

const cellOf = (text: string): string => {
  const line = csvLine({ ...RESULT, account_name: text });
  return line.slice('1,1,,,,,,'.length, -',,,,,,,,2026-11-22T00:00:00.000Z\r\n'.length);
};

/** Regression: text that begins with a tab or a line break was guarded only if a sign followed. */
test('a cell that begins with any character of the OWASP list is guarded', () => {
  for (const sign of ['=', '+', '-', '@', '|', '\t', '\r', '\n']) {
    assert.equal(cellOf(`${sign}A1`).replaceAll('"', ''), `'${sign}A1`, JSON.stringify(sign));
  }
  assert.equal(cellOf('\t=A1').replaceAll('"', ''), "'\t'=A1");
  assert.equal(cellOf('SITI AMINAH'), 'SITI AMINAH');
  assert.equal(cellOf('A-1 | B'), 'A-1 | B');
});

/** Regression: in a program that separates at commas, a file with semicolons or tabs had cells with formulas. */
test('a formula after any separator is guarded, whichever separates the cells of the file', () => {
  for (const delimiter of [',', ';', '\t']) {
    for (const other of [',', ';', '\t'].filter((each) => each !== delimiter)) {
      assert.equal(csvRow([`A${other}=1+1`, 'x'], delimiter), `A${other}'=1+1${delimiter}x\r\n`);
      assert.equal(csvRow([`A${other} -1`, 'x'], delimiter), `A${other}' -1${delimiter}x\r\n`);
    }
  }
  assert.equal(csvRow(['A, B-1', '1.000,50'], ';'), 'A, B-1;1.000,50\r\n');
});

test('an amount as it is written in Indonesia stays as it is, where nothing can follow its sign', () => {
  assert.equal(csvRow(['Rp 1.000,-', 'x'], ';'), 'Rp 1.000,-;x\r\n');
  // Spaces are allowed within a formula, and a tab is one to many programs.
  assert.equal(csvRow(['Rp 1.000,-', 'x'], '\t'), "Rp 1.000,'-\tx\r\n");
});
