import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { addMoney } from '../../apps/server/src/domain/money.ts';
import {
  readRenderedColumn,
  renderedColumn,
  separatedTexts,
} from '../../apps/server/src/postgres/rendered-transactions.ts';

const SEPARATOR = '\u0002';
const CREATED = '2026-11-21T04:32:26.123Z';

suite('the column rendered', () => {
  test('leaves out cents that are zero, and what a text begins with as the one before does', () => {
    for (const [amount, fee, processedAt, ...stored] of [
      ['150000.00', '2500.00', '2026-11-21T04:32:31.402Z', '150000', '2500', '2500', '31.402Z'],
      ['150000.00', '0.00', '2026-11-22T04:32:26.123Z', '150000', '0', '0', '2T04:32:26.123Z'],
      ['999000.00', '2500.00', CREATED, '999000', '2500', '1001500', 'Z'],
      ['150000.50', '0.50', null, '150000.50', '0.50', '1.00', ''],
    ] as const) {
      const [first, second, total, processed] = stored;
      assert.equal(
        renderedColumn({ amount, fee, createdAt: CREATED, processedAt }),
        [first, second, total, CREATED, processed].join(SEPARATOR),
      );
    }
  });

  test('is read as it was, whatever the amounts and times are', () => {
    fc.assert(
      fc.property(money(), money(), time(), fc.option(time()), (amount, fee, createdAt, processedAt) => {
        const column = renderedColumn({ amount, fee, createdAt, processedAt });
        const { next, rest } = separatedTexts(['before', column, 'after'].join(SEPARATOR));
        assert.equal(next(), 'before');
        const totalAmount = addMoney(amount, fee);
        const texts = { amount, fee, totalAmount, createdAt, processedAt: processedAt ?? '' };
        assert.deepEqual(readRenderedColumn(next), texts);
        assert.equal(rest(), 'after');
      }),
      { numRuns: 1_000 },
    );
  });

  test('a text with fewer or more separators than expected is not read', () => {
    const one = separatedTexts('one');
    assert.throws(one.next, /unknown format/);
    const three = separatedTexts(['one', 'two', 'three'].join(SEPARATOR));
    assert.equal(three.next(), 'one');
    assert.throws(three.rest, /unknown format/);
  });
});

/** Canonical amounts of every size; most are whole, and some are near the next power of ten. */
function money(): fc.Arbitrary<string> {
  const whole = fc
    .tuple(fc.bigInt({ min: 0n, max: 10n ** 18n - 1n }), fc.nat({ max: 18 }))
    .map(([digits, places]) => digits / 10n ** BigInt(places));
  const nines = fc.nat({ max: 18 }).map((places) => 10n ** BigInt(places) - 1n);
  const cents = fc.oneof(fc.constant('00'), fc.constantFrom('01', '10', '50', '99'));
  return fc.tuple(fc.oneof(whole, nines), cents).map(([digits, places]) => `${digits}.${places}`);
}

/** Often within the same minute. */
function time(): fc.Arbitrary<string> {
  const nearMs = fc.nat({ max: 60_000 }).map((ms) => Date.parse(CREATED) + ms);
  const anyMs = fc.integer({ min: Date.parse('0001-01-02'), max: Date.parse('9999-12-31') });
  return fc.oneof(nearMs, anyMs).map((ms) => new Date(ms).toISOString());
}
