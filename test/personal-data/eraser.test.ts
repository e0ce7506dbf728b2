import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEraser, erasedTermsOf } from '../../apps/server/src/domain/eraser.ts';

const { eraseText, eraseJson, finds } = createEraser(['1234567', 'Siti "Ayu" Rahayu']);

test('a number or a name is erased as a whole word only, in any case', () => {
  const cases = {
    'to 1234567': 'to ERASED',
    'SITI "AYU" RAHAYU, 1234567.': 'ERASED, ERASED.',
    '12345678 01234567 1234567A': '12345678 01234567 1234567A',
    '1234567.00 and 1234567,50': '1234567.00 and 1234567,50',
    '1234567,5 1234567,9876543 9876543.1234567': 'ERASED,5 ERASED,9876543 9876543.ERASED',
    '12-345-67 12 345 67 1-23456-78': 'ERASED ERASED 1-23456-78',
    'siti  "ayu"\trahayu': 'ERASED',
  };
  assert.deepEqual(Object.keys(cases).map(eraseText), Object.values(cases));
  assert.deepEqual(Object.keys(cases).map(finds), [true, true, false, false, true, true, true]);
});

test('only the strings of a JSON text change; numbers and spaces stay as they are', () => {
  const json =
    '{ "amount":1234567, "fee":1.10,"account_number":"1234567","name":"Siti \\"Ayu\\" Rahayu", "a":"\\u00e9" }';
  const erased = '{ "amount":1234567, "fee":1.10,"account_number":"ERASED","name":"ERASED", "a":"\\u00e9" }';
  assert.equal(eraseJson(json), erased);
  assert.equal(eraseJson(erased), erased);
});

test('identifiers and banks stay as they are in a JSON text', () => {
  const json =
    '{"reference_id":"INV-1234567","external_id" : "1234567","bank_name":"Siti \\"Ayu\\" Rahayu","bank_code":"1234567"';
  const eraser = createEraser(['1234567', 'Siti "Ayu" Rahayu']);
  assert.equal(eraser.eraseJson(`${json},"description":"INV-1234567"}`), `${json},"description":"INV-ERASED"}`);
});

test('nothing to look for changes nothing', () => {
  assert.equal(createEraser(['', 'ERASED']).eraseText('an ERASED text'), 'an ERASED text');
});

test('what was erased is found again in the text that it was erased from', () => {
  const cases = [
    ['ERASED', '1234567', ['1234567']],
    ['to ERASED, ERASED.', 'to 1234567, Siti Rahayu.', ['1234567', 'Siti Rahayu']],
    ['to ERASED', 'to ERASED', ['ERASED']],
    ['to ERASED', 'for 1234567', null],
    ['ERASED!', '1234567', null],
    ['ERASED', '', null],
    ['1234567', '1234567', null],
  ] as const;
  for (const [erased, text, terms] of cases) assert.deepEqual(erasedTermsOf(erased, text), terms);
});
