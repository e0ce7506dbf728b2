import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { addMoney, parseMoney } from '../../apps/server/src/domain/money.ts';

suite('parsing money', () => {
  test('returns the canonical text with two places', () => {
    const forms = {
      0: '0.00',
      '0.0': '0.00',
      '0.01': '0.01',
      7: '7.00',
      '150000': '150000.00',
      '150000.5': '150000.50',
      '9007199254740993.01': '9007199254740993.01',
      '999999999999999999.99': '999999999999999999.99',
    };
    for (const [text, money] of Object.entries(forms)) assert.equal(parseMoney(text), money);
  });

  test('accepts only a plain, non-negative decimal with at most two places', () => {
    const others = [
      '',
      ' ',
      ' 1',
      '1 ',
      '1\n',
      '-1',
      '-0',
      '+1',
      '.5',
      '1.',
      '1.000',
      '1.005',
      '00',
      '01',
      '1e3',
      '1E3',
      '1e-2',
      '0x1',
      '1,00',
      '1_000',
      '1.0.0',
      'NaN',
      'Infinity',
      '٣',
      '１',
      '1000000000000000000',
      '9'.repeat(60),
    ];
    for (const text of others) assert.equal(parseMoney(text), null, JSON.stringify(text));
  });

  test('returns canonical text unchanged', () => {
    fc.assert(fc.property(money(), (text) => assert.equal(parseMoney(text), text)));
  });
});

suite('adding money', () => {
  test('is exact where binary floating point is not', () => {
    assert.equal(addMoney('0.10', '0.20'), '0.30');
    assert.equal(addMoney('9007199254740993.01', '0.00'), '9007199254740993.01');
    assert.equal(addMoney('999999999999999999.99', '0.01'), '1000000000000000000.00');
    assert.equal(addMoney('0.00', '0.00'), '0.00');
    assert.equal(addMoney('0.01', '0.04'), '0.05');
  });

  test('is the sum of the hundredths', () => {
    const hundredths = (text: string): bigint => BigInt(text.replace('.', ''));
    fc.assert(
      fc.property(money(), money(), (one, other) => {
        const sum = addMoney(one, other);
        assert.match(sum, /^(0|[1-9]\d*)\.\d\d$/);
        assert.equal(hundredths(sum), hundredths(one) + hundredths(other));
        assert.equal(addMoney(other, one), sum);
      }),
    );
  });
});

/** Canonical amounts of every size. */
function money(): fc.Arbitrary<string> {
  return fc
    .tuple(fc.bigInt({ min: 0n, max: 10n ** 18n - 1n }), fc.nat({ max: 18 }), fc.nat({ max: 99 }))
    .map(([whole, digits, places]) => `${whole / 10n ** BigInt(digits)}.${String(places).padStart(2, '0')}`);
}
