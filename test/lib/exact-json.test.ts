import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { parse, stringify } from 'lossless-json';
import { parseExactJson, parseJsonStrings } from '../../apps/server/src/lib/exact-json.ts';

const SPACE = fc.constantFrom('', '', ' ', '\n\t');
const STRING = fc
  .array(fc.constantFrom('a', '1', ' ', ':', '{', 'é', String.raw`\"`, '\\\\', String.raw`\/`, String.raw`\u0041`))
  .map((parts) => `"${parts.join('')}"`);
const SCALAR = fc.oneof(
  STRING,
  fc.constantFrom('null', 'true', 'false', '0', '-1', '1.50', '1e2', '12345678901234567890', '0.1'),
);

/** JSON texts: numbers in any notation, names given twice, and white space and escapes as no serializer writes them. */
function jsonTexts(depth: number): fc.Arbitrary<string> {
  if (depth === 0) return SCALAR;
  const value = fc.tuple(SPACE, jsonTexts(depth - 1), SPACE).map((parts) => parts.join(''));
  const member = fc
    .tuple(SPACE, STRING, SPACE, value)
    .map(([before, name, after, text]) => `${before}${name}${after}:${text}`);
  return fc.oneof(
    SCALAR,
    fc.array(value, { maxLength: 4 }).map((values) => `[${values.join(',')}]`),
    fc.array(member, { maxLength: 4 }).map((members) => `{${members.join(',')}}`),
  );
}

/** What a parser makes of a text, as text in which every number is exact; undefined for an error. */
function outcome(read: (text: string) => unknown, text: string): string | undefined {
  try {
    return stringify(read(text));
  } catch {
    return undefined;
  }
}

const seed = Number(process.env['FC_SEED'] ?? randomInt(2 ** 31));
const options = { seed, numRuns: 2_000 };

suite(`JSON texts (FC_SEED=${seed})`, () => {
  test('parseExactJson reads what the lossless parser reads, by whichever way', () => {
    fc.assert(
      fc.property(jsonTexts(3), (text) => {
        assert.equal(
          outcome(parseExactJson, text),
          outcome((each) => parse(each), text),
          text,
        );
      }),
      options,
    );
  });

  test('a text of any length that is nested deeply is refused', () => {
    for (const depth of [1_025, 8_000, 100_000]) {
      for (const text of [
        `${'['.repeat(depth)}${']'.repeat(depth)}`,
        `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
      ]) {
        assert.throws(() => parseExactJson(text), RangeError);
        assert.throws(() => parseJsonStrings(text, 1_000_000), RangeError);
      }
    }
    assert.ok(Array.isArray(parseExactJson(`${'['.repeat(1_024)}${']'.repeat(1_024)}`)));
  });

  test('parseJsonStrings reads the same strings, and refuses every name that is given twice', () => {
    const withoutNumbers = (value: unknown): string =>
      JSON.stringify(value, (_name, each: unknown) =>
        typeof each === 'number' || typeof each === 'bigint' ? 0 : each,
      );
    fc.assert(
      fc.property(jsonTexts(3), (text) => {
        let value: unknown;
        try {
          value = parseJsonStrings(text, 1_000);
        } catch {
          return;
        }
        assert.equal(withoutNumbers(value), withoutNumbers(JSON.parse(text)));
        assert.notEqual(outcome(parseExactJson, text), undefined, text);
      }),
      options,
    );
    assert.throws(() => parseJsonStrings('{"a":"1","a":"1"}', 1_000), SyntaxError);
    assert.throws(() => parseJsonStrings('{"a":{"b":1}, "c":1}', 2), RangeError);
    assert.deepEqual(parseJsonStrings('{"a":{"b":1}, "c":"x:y"}', 3), { a: { b: 1 }, c: 'x:y' });
  });
});
