import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayAndTime, duration, linkFrom, money, time, utc, withLocalTimes } from '../../apps/console/src/format.ts';
import { type Counts, quantile, ratesBetween, together } from '../../apps/console/src/rates.ts';
import { plainAmount, readSearch, type SearchQuery } from '../../apps/console/src/search-text.ts';

/** The console's pure functions: what a person types, and what a person reads. */

const NOW = new Date('2026-11-22T03:00:00Z');

test('one text goes to the service as it is, several are filters', () => {
  const cases: readonly (readonly [string, SearchQuery])[] = [
    ['TB2026112100000001', { q: 'TB2026112100000001' }],
    [' INV/2026/001 ', { q: 'INV/2026/001' }],
    ['1234567890', { q: '1234567890' }],
    ['1234 5678 90', { q: '1234 5678 90' }],
    ['Order of Siti', { q: 'Order of Siti' }],
    ['1234567890 150.000 yesterday', { account_number: '1234567890', amount: '150000.00', day: '2026-11-21' }],
    ['1234567890, 150.000, yesterday', { account_number: '1234567890', amount: '150000.00', day: '2026-11-21' }],
    ['1234-5678-90 150.000 21-11-2026', { account_number: '1234567890', amount: '150000.00', day: '2026-11-21' }],
    ['1234 5678 90 Rp150.000 21/11/26', { account_number: '1234567890', amount: '150000.00', day: '2026-11-21' }],
    ['1234567890 150000 kemarin', { account_number: '1234567890', amount: '150000.00', day: '2026-11-21' }],
    ['Rp 150.000,00 hari ini', { amount: '150000.00', day: '2026-11-22' }],
    ['overdue bank:014', { overdue: 'true', bank_code: '014' }],
    ['pending today', { status: 'PROCESS', day: '2026-11-22' }],
    ['client:shop-one failed 21/11', { client_id: 'shop-one', status: 'FAILED', day: '2026-11-21' }],
    ['1234567890 24/12', { account_number: '1234567890', day: '2025-12-24' }],
    ['constructor', { q: 'constructor' }],
    ['constructor today', { q: 'constructor today' }],
  ];
  assert.deepEqual(
    cases.map(([text]) => [text, readSearch(text, NOW)]),
    cases,
  );
});

test('a day is the one of Jakarta, also shortly after its midnight', () => {
  assert.deepEqual(readSearch('150.000 today', new Date('2026-11-21T17:30:00Z')), {
    amount: '150000.00',
    day: '2026-11-22',
  });
});

test('amounts are read as Indonesians and others write them', () => {
  const texts = ['150.000', '150,000.00', 'Rp150.000,50', '150000,-', 'IDR 1.250.000', '99.5'];
  assert.deepEqual(texts.map(plainAmount), ['150000.00', '150000.00', '150000.50', '150000.00', '1250000.00', '99.50']);
});

test('amounts are exact in both languages, however large they are', () => {
  assert.equal(money('12345678901234567.89', 'IDR', 'en'), 'IDR 12,345,678,901,234,567.89');
  assert.equal(money('12345678901234567.89', 'IDR', 'id'), 'Rp12.345.678.901.234.567,89');
  assert.equal(money('0.5', 'USD', 'id'), 'USD 0,50');
});

test('times are in the zone of the reader, short where they are near', () => {
  assert.equal(time('2026-11-22T02:02:03Z', 'en', NOW, 'Asia/Jakarta'), '09:02:03');
  assert.equal(time('2026-11-21T02:02:03Z', 'en', NOW, 'Asia/Jakarta'), '21 Nov, 09:02:03');
  assert.equal(dayAndTime('2026-11-22T02:02:03Z', 'en', NOW, 'Asia/Jakarta'), '22 Nov, 09:02:03');
  assert.match(time('2025-11-21T02:02:03Z', 'id', NOW, 'Asia/Makassar'), /^21 Nov 2025, 10[:.]02[:.]03$/);
  assert.equal(utc('2026-11-21T02:02:03.456Z'), '2026-11-21 02:02:03 UTC');
  assert.equal(withLocalTimes('due at 2026-11-22T02:02:03.456Z', 'en', NOW, 'Asia/Jakarta'), 'due at 09:02:03');
  assert.deepEqual(
    [250, 31_000, 7_500_000, 90_000_000].map((ms) => duration(ms, 'en')),
    ['250 ms', '31 s', '2 h 5 min', '1 d 1 h'],
  );
});

test('a link escapes what it is made from, and needs all of it', () => {
  const template = 'https://logs.example.com/?q={transaction_id}&from={from}';
  assert.equal(linkFrom(template, { transaction_id: 'a&b=c' }), null);
  assert.equal(
    linkFrom(template, { transaction_id: 'a&b=c', from: '2026' }),
    'https://logs.example.com/?q=a%26b%3Dc&from=2026',
  );
});

test('rates are differences, and a restart between two readings gives none', () => {
  const counts = (ok: number, bad: number, fast: number): Counts => ({
    subject: '/api/v1/check-status',
    outcomes: [
      { outcome: '200', count: ok },
      { outcome: '503', count: bad },
    ],
    durations: [
      { up_to_ms: 10, count: fast },
      { up_to_ms: 100, count: ok + bad },
      { up_to_ms: null, count: ok + bad },
    ],
  });
  const isFailure = (status: string): boolean => status.startsWith('5');
  const rates = ratesBetween([counts(100, 0, 100)], [counts(145, 5, 125)], 5, isFailure);
  assert.ok(rates !== null);
  const [rate] = rates;
  assert.equal(rate?.perSecond, 10);
  assert.equal(rate.failureShare, 0.1);
  assert.equal(rate.p50Ms, 10);
  assert.equal(together(rates).p99Ms, rate.p99Ms);
  assert.equal(ratesBetween([counts(100, 0, 100)], [counts(3, 0, 3)], 5, isFailure), null);
  assert.equal(quantile([{ upToMs: 10, count: 0 }], 0.5), null);
});
