import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hintsFor } from '../../apps/console/src/search-hints.ts';
import { findUnread, readSearch, type SearchQuery } from '../../apps/console/src/search-text.ts';

/** What the search box of the console makes of days and amounts in words, and what it says when nothing was found. */

/** A Sunday, 10:00 in Jakarta. */
const NOW = new Date('2026-11-22T03:00:00Z');

test('a day is read as the pages print it and as people write it, in both languages', () => {
  const days: readonly (readonly [string, string])[] = [
    ['21 Nov, 10:15:00', '2026-11-21'],
    ['21 Nov 2026, 10.15.00', '2026-11-21'],
    ['21 nov', '2026-11-21'],
    ['21-nov-2025', '2025-11-21'],
    ['24 desember', '2025-12-24'],
    ['1 Sept', '2026-09-01'],
    ['17 Agustus 2026', '2026-08-17'],
    ['2 hari lalu', '2026-11-20'],
    ['3 hari yang lalu', '2026-11-19'],
    ['1 day ago', '2026-11-21'],
    ['kemarin lusa', '2026-11-20'],
    ['day before yesterday', '2026-11-20'],
    ['hari ini', '2026-11-22'],
    ['senin', '2026-11-16'],
    ['hari Jumat', '2026-11-20'],
    ["jum'at lalu", '2026-11-20'],
    ['last monday', '2026-11-16'],
    ['sunday', '2026-11-22'],
    ['last sunday', '2026-11-15'],
  ];
  for (const [text, day] of days) {
    assert.deepEqual([text, readSearch(text, NOW)], [text, { day }]);
    const withAccount: SearchQuery = { account_number: '1234567890', day };
    assert.deepEqual([text, readSearch(`1234567890 ${text}`, NOW)], [text, withAccount]);
  }
});

test('what only looks like a day is searched as it is', () => {
  for (const q of ['31 jun', '27 kopi', 'minggu lalu', '10:15:00', 'INV 27 nov', 'may', 'Order-27 nov 1'])
    assert.deepEqual(readSearch(q, NOW), { q });
});

test('rb is a thousand, jt a million', () => {
  const amounts = [
    ['725rb', '725000.00'],
    ['Rp 725 ribu', '725000.00'],
    ['1.250rb', '1250000.00'],
    ['1,5jt', '1500000.00'],
    ['1.5 juta', '1500000.00'],
  ];
  for (const [text = '', amount] of amounts) assert.deepEqual([text, readSearch(text, NOW)], [text, { amount }]);
  assert.deepEqual(readSearch('1234567890 725rb senin', NOW), {
    account_number: '1234567890',
    amount: '725000.00',
    day: '2026-11-16',
  });
  assert.deepEqual(readSearch('1.250 jt kemarin', NOW), { q: '1.250 jt kemarin' });
});

test('a short number beside a day may be an amount or an account: the service tries both', () => {
  assert.deepEqual(readSearch('725000 21 nov', NOW), { q: '725000', day: '2026-11-21' });
  assert.deepEqual(readSearch('2500 kemarin', NOW), { q: '2500', day: '2026-11-21' });
  assert.deepEqual(readSearch('12345678 Rp2.500', NOW), { account_number: '12345678', amount: '2500.00' });
});

test('the word is named for which a text was searched as one', () => {
  assert.equal(findUnread('1234567890 siti yesterday', NOW), 'siti');
  assert.equal(findUnread('1234567890 150.000 yesterday', NOW), null);
  assert.equal(findUnread('1234 5678 90', NOW), null);
});

test('nothing found: the hint is about what was searched', () => {
  const cases = [
    [{ q: '2222' }, ['whole']],
    [{ q: 'TB0000000009' }, ['whole']],
    [{ q: '725000' }, ['whole', 'amount']],
    [{ q: 'Rp150.000' }, ['whole', 'amount']],
    [{ q: '725000', day: '2026-11-21' }, ['filters']],
    [{ amount: '725000.00' }, ['amount']],
    [{ amount: '725000.00', day: '2026-11-21' }, ['filters']],
    [{ account_number: '1234567890', amount: '150000.00' }, ['filters']],
    [{ account_number: '1234567890' }, ['whole']],
    [{ q: 'siti' }, ['whole', 'names']],
    [{ q: '1234567890 siti' }, ['unread', 'names']],
    [{ q: 'INV-2 150000' }, ['unread']],
    [{ day: '2026-11-21' }, []],
    [{}, []],
  ] as const;
  for (const [parameters, hints] of cases)
    assert.deepEqual([parameters, hintsFor(parameters, NOW).hints], [parameters, hints]);
  assert.equal(hintsFor({ q: '1234567890 siti' }, NOW).word, 'siti');
});
