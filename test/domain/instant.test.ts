import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { addMs, msBetween, parseInstant } from '../../apps/server/src/domain/instant.ts';

const pad = (number: number): string => String(number).padStart(2, '0');

test('a time in the form that is stored stays as it is, if there is such a day', () => {
  for (const year of ['0001', '1900', '2023', '2024', '9999']) {
    for (let month = 0; month <= 13; month += 1) {
      for (let day = 0; day <= 32; day += 1) {
        const text = `${year}-${pad(month)}-${pad(day)}T23:59:59.999Z`;
        const date = new Date(text);
        const exists = !Number.isNaN(date.getTime()) && date.toISOString() === text;
        assert.equal(parseInstant(text), exists ? text : null, text);
      }
    }
  }
  for (const text of ['0000-01-01T00:00:00.000Z', '2026-01-01T24:00:00.000Z', '2026-01-01T00:60:00.000Z']) {
    assert.equal(parseInstant(text), null, text);
  }
});

test('other forms of RFC 3339 become UTC with milliseconds', () => {
  assert.equal(parseInstant('2026-11-21t07:00:00+07:00'), '2026-11-21T00:00:00.000Z');
  assert.equal(parseInstant('2026-11-21 00:00:00.1239Z'), '2026-11-21T00:00:00.123Z');
  assert.equal(parseInstant('2024-02-29T00:00:00.5z'), '2024-02-29T00:00:00.500Z');
  assert.equal(parseInstant('2026-11-21T00:00:00'), null);
});

/** What `Date` makes of it. */
const laterByDate = (instant: string, ms: number): string =>
  new Date(Math.min(Date.parse(instant) + ms, Date.parse('9999-12-31T23:59:59.999Z'))).toISOString();

const instants = fc
  .date({
    min: new Date('1900-01-01T00:00:00.000Z'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  })
  .map((date) => date.toISOString());

test('time is added, and subtracted, as Date does it', () => {
  const spans = fc.oneof(
    fc.integer({ min: -90_000_000, max: 90_000_000 }),
    fc.double({ min: 0, max: 1e6, noNaN: true }),
  );
  fc.assert(
    fc.property(instants, spans, (instant, ms) => {
      assert.equal(addMs(instant, ms), laterByDate(instant, ms));
      assert.equal(msBetween(instant, addMs(instant, ms)), Date.parse(addMs(instant, ms)) - Date.parse(instant));
    }),
  );
  fc.assert(
    fc.property(instants, instants, (start, end) => {
      assert.equal(msBetween(start, end), Date.parse(end) - Date.parse(start));
    }),
  );
  assert.equal(addMs('9999-12-31T23:59:59.000Z', 1_800_000), '9999-12-31T23:59:59.999Z');
});
