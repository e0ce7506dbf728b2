import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { minify } from '../../apps/bank/src/snap/minify.ts';

const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31);

function minifyText(json: string): string {
  return minify(Buffer.from(json)).toString();
}

describe('minify', () => {
  it(`turns indented JSON back into the output of JSON.stringify (seed ${seed}; repeat with FC_SEED)`, () => {
    const indent = fc.string({ unit: fc.constantFrom(' ', '\t', '\r', '\n'), maxLength: 10 });
    const property = fc.property(fc.jsonValue({ stringUnit: 'binary' }), indent, (value, space) => {
      assert.equal(minifyText(JSON.stringify(value, null, space)), JSON.stringify(value));
    });
    fc.assert(property, { seed, numRuns: 500 });
  });

  it(`is idempotent for any text (seed ${seed})`, () => {
    const text = fc.string({ unit: fc.constantFrom('"', '\\', ' ', '\n', '{', '}', 'a', 'é') });
    const property = fc.property(text, (json) => {
      const once = minifyText(json);
      assert.equal(minifyText(once), once);
    });
    fc.assert(property, { seed, numRuns: 500 });
  });

  const examples: [guarantee: string, json: string, minified: string][] = [
    ['keeps whitespace inside strings', '{ "a b" : " c\\td " }', '{"a b":" c\\td "}'],
    ['recognizes an escaped quote', '{"a":"\\" x \\"" , "b":1}', '{"a":"\\" x \\"","b":1}'],
    ['recognizes a string that ends in a backslash', '["\\\\" , "\\\\\\" , "]', '["\\\\","\\\\\\" , "]'],
    ['keeps escapes as they are written', '[ "\\u00e9\\/" ]', '["\\u00e9\\/"]'],
    [
      'keeps the order of members, nulls and the spelling of numbers',
      '{"b":1.0, "a":null, "0":1E2}',
      '{"b":1.0,"a":null,"0":1E2}',
    ],
    ['keeps characters that are not whitespace in JSON', '[\u00a0]', '[\u00a0]'],
    ['drops whitespace at both ends', ' \r\n\t{} \r\n\t', '{}'],
    ['keeps an empty text empty', '', ''],
  ];
  for (const [guarantee, json, minified] of examples) {
    it(guarantee, () => assert.equal(minifyText(json), minified));
  }
});
