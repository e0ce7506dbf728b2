import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { adviceFor, CODES_WITH_ADVICE } from '../../apps/console/src/advice.ts';
import { actionText, KNOWN_ACTIONS } from '../../apps/console/src/audit-actions.ts';
import {
  calendarDay,
  dayAndTime,
  duration,
  linkFrom,
  money,
  time,
  utc,
  withLocalTimes,
} from '../../apps/console/src/format.ts';
import { readProposalFields } from '../../apps/console/src/proposal-fields.ts';
import { type Counts, calledIn, isNoAnswer, quantile, ratesBetween, together } from '../../apps/console/src/rates.ts';
import { outcomeAfter } from '../../apps/console/src/resend-outcome.ts';
import { plainAmount, readSearch, type SearchQuery } from '../../apps/console/src/search-text.ts';
import { ERROR_CODES, httpStatusOf } from '../../apps/server/src/http/errors.ts';

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
  const due = 'due at 2026-11-22T02:02:03.456Z';
  assert.equal(withLocalTimes(due, 'en', NOW, { timeZone: 'Asia/Jakarta' }), 'due at 09:02:03');
  const withDays = withLocalTimes(due, 'en', NOW, { show: dayAndTime, timeZone: 'Asia/Jakarta' });
  assert.equal(withDays, 'due at 22 Nov, 09:02:03');
  assert.deepEqual(
    ['2026-11-21', '2025-11-21', 'tomorrow'].map((date) => calendarDay(date, 'id', NOW)),
    ['21 Nov', '21 Nov 2025', 'tomorrow'],
  );
  assert.deepEqual(
    [250, 31_000, 7_500_000, 90_000_000].map((ms) => duration(ms, 'en')),
    ['250 ms', '31 s', '2 h 5 min', '1 d 1 h'],
  );
});

test('each error has words in both languages: those of its code, or else those of its status', () => {
  const known: readonly string[] = ERROR_CODES;
  assert.deepEqual(
    CODES_WITH_ADVICE.filter((code) => !known.includes(code)),
    [],
  );
  for (const code of ERROR_CODES) {
    const { en, id } = adviceFor(httpStatusOf(code), code);
    assert.ok(en !== '' && id !== '' && en !== id, code);
  }
  assert.match(adviceFor(409, 'CLIENT_CONFLICT').id, /ID sudah dipakai/);
  assert.match(adviceFor(409, 'NEW_CODE').id, /Data sudah berubah/);
  assert.match(adviceFor(502, null).id, /kesalahan layanan/);
});

test('a proposal is read as fields: what each is now, where that is known, and what it becomes', () => {
  const limits = { check_status_per_minute: 60, accounts_per_day: 777 };
  const state = { name: 'Beta', scopes: ['status:read', 'events:read'], trusted: false, limits, snap: null };
  const change = {
    client_id: 'beta',
    limits: { 'accounts-per-day': null },
    scopes: ['status:read'],
    trusted: true,
    disabled: null,
  };
  assert.deepEqual(readProposalFields(JSON.stringify({ action: 'client change', change }), JSON.stringify(state)), {
    changed: [
      { name: 'limits.accounts_per_day', before: 777, after: null },
      { name: 'scopes', before: 'status:read events:read', after: 'status:read' },
      { name: 'trusted', before: false, after: true },
    ],
    others: [
      { name: 'name', value: 'Beta' },
      { name: 'limits.check_status_per_minute', value: 60 },
      { name: 'snap', value: null },
    ],
  });
  const url = { origin: 'https://new.example.com', sha256: 'b1', sealed: 'c2VhbGVk' };
  const endpoint = { origin: 'https://old.example.com', url_sha256: 'a0' };
  assert.deepEqual(readProposalFields(JSON.stringify({ change: { url } }), JSON.stringify(endpoint))?.changed, [
    { name: 'origin', before: 'https://old.example.com', after: 'https://new.example.com' },
    { name: 'url_sha256', before: 'a0', after: 'b1' },
  ]);
  const options = { partnerId: 'SHOP', clockSkewSeconds: 60 };
  const snap = { partner_id: 'BETA', clock_skew_seconds: 300 };
  assert.deepEqual(readProposalFields(JSON.stringify({ change: { options } }), JSON.stringify({ snap }))?.changed, [
    { name: 'snap.partner_id', before: 'BETA', after: 'SHOP' },
    { name: 'snap.clock_skew_seconds', before: 300, after: 60 },
  ]);
  const endpoints = { endpoints: [{ endpoint_id: 'ep_1', sha256: 'c2' }] };
  assert.deepEqual(readProposalFields('{"change":{"client_id":"beta"}}', JSON.stringify(endpoints)), {
    changed: [],
    others: [
      { name: 'endpoints.1.endpoint_id', value: 'ep_1' },
      { name: 'endpoints.1.sha256', value: 'c2' },
    ],
  });
  assert.deepEqual(readProposalFields('{"change":{"algorithm":"ES256"}}', null), {
    changed: [{ name: 'algorithm', before: undefined, after: 'ES256' }],
    others: [],
  });
  assert.equal(readProposalFields('not JSON', null), null);
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

test('a bank that does not know a transfer, or rejects an inquiry, has answered', () => {
  const outcomes = ['ACTIVE', 'PROCESS', 'unknown_transfer', 'rejected_by_bank', 'timeout', 'circuit_open'];
  assert.deepEqual(outcomes.filter(isNoAnswer), ['timeout', 'circuit_open']);
});

test('an operation without a call in the window is left out', () => {
  const rate = (subject: string, perSecond: number) => ({
    subject,
    perSecond,
    failureShare: 0,
    p50Ms: null,
    p95Ms: null,
    p99Ms: null,
  });
  const samples = [
    [rate('a', 1), rate('b', 0), rate('c', 0)],
    [rate('a', 0), rate('b', 0), rate('c', 2)],
  ];
  assert.deepEqual(
    calledIn(samples).map(({ subject }) => subject),
    ['c', 'a'],
  );
  assert.deepEqual(calledIn([]), []);
});

test('each action of the audit has words in both languages, a new one its own', async () => {
  const sources = await Array.fromAsync(glob('apps/server/src/{http/operator,cli}/**/*.ts'), (each) =>
    readFile(each, 'utf8'),
  );
  const named = [...sources.join('').matchAll(/action: '([a-z]+ [a-z -]+)'/g)].map(([, action = '']) => action);
  assert.ok(named.length > 20);
  assert.deepEqual(
    named.filter((each) => !KNOWN_ACTIONS.includes(each)),
    [],
  );
  for (const action of KNOWN_ACTIONS) {
    const { en, id } = actionText(action);
    assert.ok(en !== action && id !== action && en !== id, action);
  }
  assert.deepEqual(actionText('client trust (without approval)'), {
    en: 'Client trusted (without approval)',
    id: 'Klien dipercaya (tanpa persetujuan)',
  });
  assert.deepEqual(actionText('moon land'), { en: 'moon land', id: 'moon land' });
});

test('how a callback that was sent again ended is its first new attempt', () => {
  const attempt = (deliveryId: string, number: number, httpStatus: string | null, error: string | null = null) => ({
    at: '2026-11-22T03:00:00Z',
    kind: 'callback_attempt' as const,
    text: '',
    text_id: '',
    facts: [
      { name: 'delivery_id', value: deliveryId },
      { name: 'attempt', value: String(number) },
      { name: 'http_status', value: httpStatus },
      { name: 'error', value: error },
    ],
  });
  const before = [attempt('ep_1-7', 1, '500'), attempt('ep_2-7', 2, '200')];
  assert.equal(outcomeAfter(before, 'ep_1-7', 1), null);
  const after = (...entry: readonly [string | null, (string | null)?]) =>
    outcomeAfter([...before, attempt('ep_1-7', 2, ...entry)], 'ep_1-7', 1);
  assert.deepEqual(after('204'), { isAccepted: true, answer: '204' });
  assert.deepEqual(after('500'), { isAccepted: false, answer: 'HTTP 500' });
  assert.deepEqual(after(null, 'timeout'), { isAccepted: false, answer: 'timeout' });
});
