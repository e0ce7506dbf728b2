import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { isPlainText, isReferenceId, isTransactionId } from '../../apps/server/src/domain/identifiers.ts';

const CONTROL_CHARACTERS = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).filter(
  (character) => character < ' ' || character > '~',
);

suite('a transaction ID', () => {
  test('is 2 to 10 capital letters, then 6 to 32 digits', () => {
    for (const letters of [2, 3, 10]) {
      for (const digits of [6, 7, 32]) assert.ok(isTransactionId('T'.repeat(letters) + '0'.repeat(digits)));
    }
  });

  test('is nothing else', () => {
    const others = [
      '',
      'TB',
      '123456',
      'T123456',
      `${'T'.repeat(11)}123456`,
      'TB12345',
      `TB${'1'.repeat(33)}`,
      'tb123456',
      'Tb123456',
      'TB123456 ',
      ' TB123456',
      'TB123456\n',
      'TB-123456',
      'TB12345A',
      'TB123456A',
      'ТB123456',
      'TÉ123456',
      'TB１２３４５６',
      'TB12３456',
      'TB123456\0',
    ];
    for (const value of others) assert.equal(isTransactionId(value), false, JSON.stringify(value));
  });

  test('is a valid reference ID too', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Z]{2,10}[0-9]{6,32}$/), (id) =>
        assert.ok(isTransactionId(id) && isReferenceId(id)),
      ),
    );
  });
});

suite('a reference ID', () => {
  test('is 1 to 128 characters, counted as code points', () => {
    for (const character of ['x', ' ', '/', '%', 'é', '木', '\u{1f600}', '\ufeff', '\u200b', '\u2028']) {
      assert.ok(isReferenceId(character));
      assert.ok(isReferenceId(character.repeat(128)), `128 times ${character}`);
      assert.equal(isReferenceId(character.repeat(129)), false, `129 times ${character}`);
    }
    assert.equal(isReferenceId(''), false);
  });

  test('is counted correctly where code points of one and of two UTF-16 units mix', () => {
    const mixed = fc.array(fc.constantFrom('a', '\u{1f600}'), { minLength: 100, maxLength: 150 });
    fc.assert(
      fc.property(mixed, (characters) => assert.equal(isReferenceId(characters.join('')), characters.length <= 128)),
    );
  });

  test('contains no control character at any position', () => {
    assert.equal(CONTROL_CHARACTERS.length, 65);
    for (const control of CONTROL_CHARACTERS) {
      for (const value of [control, `a${control}`, `${control}a`, `a${control}b`, `é${control}`]) {
        assert.equal(isReferenceId(value), false, JSON.stringify(value));
      }
    }
  });

  test('contains no lone surrogate', () => {
    for (const value of ['\ud800', '\udc00', 'a\ud800', '\ud800a', '\udc00\ud800', '\u{1f600}\udc00']) {
      assert.equal(isReferenceId(value), false, JSON.stringify(value));
    }
  });
});

suite('plain text', () => {
  test('may be empty, and has at most the given length', () => {
    assert.ok(isPlainText('', 0));
    assert.ok(isPlainText('abc', 3));
    assert.equal(isPlainText('abcd', 3), false);
    assert.ok(isPlainText('\u{1f600}'.repeat(3), 3));
    assert.equal(isPlainText('\u{1f600}'.repeat(4), 3), false);
  });

  test('agrees with counting code points, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 20 }), fc.nat({ max: 20 }), (text, lengthMax) => {
        const expected = Array.from(text).length <= lengthMax && text.isWellFormed() && !/\p{Cc}/u.test(text);
        assert.equal(isPlainText(text, lengthMax), expected);
      }),
      { numRuns: 1_000 },
    );
  });
});
