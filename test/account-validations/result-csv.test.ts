import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvLine } from '../../apps/server/src/http/account-validations/result-csv.ts';
import type { ResultJson } from '../../apps/server/src/http/account-validations/result-json.ts';

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
