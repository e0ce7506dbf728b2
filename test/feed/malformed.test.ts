import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { createIds, only, post, reportOf, statusUpdatesOf } from './harness.ts';

let service: TestService;
const newId = createIds('TX');

before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

const lineAbout = (id: string, changes: Record<string, unknown> = {}): string =>
  JSON.stringify(statusUpdate({ transaction_id: id, reference_id: id, ...changes }));

/** The line is rejected for this reason and nothing of it is stored; the lines around it are stored. */
async function assertRejected(line: string | Buffer, reason: string | RegExp, id?: string): Promise<void> {
  const [above, below] = [newId(), newId()];
  const body = Buffer.concat([
    Buffer.from(`${lineAbout(above)}\n`),
    Buffer.from(line),
    Buffer.from(`\n${lineAbout(below)}`),
  ]);
  const { rejected, ...rest } = reportOf(await post(service, body));
  const { rejected: _, ...two } = only({ inserted: 2 });
  assert.deepEqual(rest, two);
  assert.deepEqual(
    rejected.map((each) => each.line),
    [2],
  );
  const reported = rejected[0]?.reason ?? '';
  if (typeof reason === 'string') assert.equal(reported, reason);
  else assert.match(reported, reason);
  if (id !== undefined) assert.deepEqual(await statusUpdatesOf(service, id), []);
}

/** A line with `text`, unquoted, as the value of `field`. */
const withRaw = (id: string, field: string, text: string): string =>
  lineAbout(id, { [field]: 'HERE' }).replace('"HERE"', () => text);

suite('a line that is not JSON is rejected by its number', () => {
  const lines: Record<string, string> = {
    'a cut off object': lineAbout('TX9000000001').slice(0, -1),
    'two objects': `${lineAbout('TX9000000001')}${lineAbout('TX9000000002')}`,
    'a trailing comma': lineAbout('TX9000000001').replace(/\}$/, ',}'),
    'single quotes': "{'client_id':'alpha'}",
    'a comment': `${lineAbout('TX9000000001')} // first`,
    'a bare word': 'transaction',
    'a raw control character in a string': withRaw('TX9000000001', 'description', '"a\u0001b"'),
    'an unknown escape': withRaw('TX9000000001', 'description', String.raw`"\x41"`),
    NaN: withRaw('TX9000000001', 'amount', 'NaN'),
    Infinity: withRaw('TX9000000001', 'amount', 'Infinity'),
    'a leading zero': withRaw('TX9000000001', 'amount', '0150000.00'),
    'a leading plus': withRaw('TX9000000001', 'amount', '+1'),
    'no digit before the point': withRaw('TX9000000001', 'amount', '.50'),
    'no digit after the point': withRaw('TX9000000001', 'amount', '1.'),
    'a hexadecimal number': withRaw('TX9000000001', 'amount', '0x10'),
    'a thousands separator': withRaw('TX9000000001', 'amount', '150_000'),
  };
  for (const [name, line] of Object.entries(lines)) {
    test(name, () => assertRejected(line, 'not valid JSON', 'TX9000000001'));
  }

  /** Regression: the reason was "not valid JSON", and every other program called the line valid. */
  test('one name with two values, as it is or escaped, at any depth: the reason says so', async () => {
    const line = lineAbout('TX9000000001');
    for (const name of ['status', String.raw`\u0073tatus`]) {
      const twice = line.replace('{', `{"${name}":"SUCCESS",`);
      await assertRejected(twice, 'a field is named twice, with different values', 'TX9000000001');
    }
    const inside = line.replace('{', '{"note":[{"a":1,"a":2}],');
    await assertRejected(inside, 'a field is named twice, with different values', 'TX9000000001');
    await assertRejected(inside.slice(0, -1), 'not valid JSON', 'TX9000000001');
  });

  test('one name twice with the same value is accepted', async () => {
    const id = newId();
    const line = lineAbout(id).replace('{', '{"status":"PROCESS",');
    assert.deepEqual(reportOf(await post(service, line)), only({ inserted: 1 }));
  });

  test('bytes that are not UTF-8', async () => {
    const [start = '', end = ''] = lineAbout('TX9000000001', { account_name: 'HERE' }).split('HERE');
    const broken = {
      latin1: [0x42, 0xe9],
      truncated: [0xe2, 0x82],
      overlong: [0xc0, 0xaf],
      surrogate: [0xed, 0xa0, 0x80],
    };
    for (const bytes of Object.values(broken)) {
      const line = Buffer.concat([Buffer.from(start), Buffer.from(bytes), Buffer.from(end)]);
      await assertRejected(line, 'not valid UTF-8', 'TX9000000001');
    }
  });

  test('a line of more than 64 KiB, however long; one of exactly 64 KiB is read', async () => {
    const fits = newId();
    const longest = 64 * 1024;
    const padded = (length: number, id: string) =>
      lineAbout(id, { note: 'x'.repeat(length - lineAbout(id, { note: '' }).length) });
    assert.deepEqual(reportOf(await post(service, padded(longest, fits))), only({ inserted: 1 }));
    for (const length of [longest + 1, 200_000, 3_000_000]) {
      await assertRejected(padded(length, 'TX9000000001'), 'the line is longer than 65536 bytes', 'TX9000000001');
    }
  });

  test('nesting deeper than the stack', async () => {
    const deep = '['.repeat(30_000) + ']'.repeat(30_000);
    await assertRejected(withRaw('TX9000000001', 'note', deep), 'nested too deeply', 'TX9000000001');
    const objects = `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`;
    await assertRejected(withRaw('TX9000000001', 'note', objects), 'nested too deeply', 'TX9000000001');
  });

  test('all JSON that is accepted is JSON to PostgreSQL too: unknown fields cannot stop a feed', async () => {
    const oddities = [
      String.raw`"\u0000"`,
      String.raw`"\ud800"`,
      String.raw`"\udc00\ud800"`,
      String.raw`"\/\b\f\n\r\t\"\\"`,
      '1e400000',
      `-0.${'0'.repeat(2_000)}1E-99999`,
      '9'.repeat(5_000),
      '["\u2028\u2029\ufeff\u{10ffff}"]',
      '{"":{"__proto__":{"constructor":null}}}',
      `${'['.repeat(1_000)}${']'.repeat(1_000)}`,
    ];
    for (const [index, oddity] of oddities.entries()) {
      const [line, array] = [newId(), newId()];
      const each = [withRaw(line, 'note', oddity), withRaw(array, 'note', oddity)] as const;
      assert.deepEqual(reportOf(await post(service, each[0])), only({ inserted: 1 }), `${index}`);
      const json = await post(service, `[${each[1]}]`, { type: 'application/json' });
      assert.deepEqual(reportOf(json), only({ inserted: 1 }), `${index}`);
    }
  });
});

suite('a line with an invalid field is rejected by its number, and the reason names the field', () => {
  const MONEY = /^(amount|fee|total_amount) must be a plain decimal with at most 18 digits and two places/;
  const invalidAmounts = ['1e3', '1E3', '1.005', '1.000', '-1', '-0.01', '9'.repeat(60), '1000000000000000000', '1e-2'];
  for (const field of ['amount', 'fee', 'total_amount']) {
    test(`${field}: ${invalidAmounts.join(', ')}, as numbers and strings, and other values`, async () => {
      for (const money of invalidAmounts) {
        await assertRejected(withRaw('TX9000000001', field, money), MONEY, 'TX9000000001');
        await assertRejected(withRaw('TX9000000001', field, `"${money}"`), MONEY, 'TX9000000001');
      }
      for (const text of [
        '""',
        '" 1"',
        '"1 "',
        '"1,00"',
        '"Rp1"',
        '"NaN"',
        '"0x1"',
        '"+1"',
        '".5"',
        '"1."',
        '"٣"',
        'true',
        '[1]',
        '{"value":"1"}',
      ]) {
        await assertRejected(withRaw('TX9000000001', field, text), MONEY, 'TX9000000001');
      }
    });
  }

  test('an amount of zero', async () => {
    for (const zero of ['0', '0.0', '0.00', '"0"']) {
      await assertRejected(withRaw('TX9000000001', 'amount', zero), 'amount must be more than zero', 'TX9000000001');
    }
  });

  test('times without a zone, in other forms, or that do not exist', async () => {
    const times = [
      '2026-11-21',
      '2026-11-21T04:32:26',
      '2026-11-21T04:32Z',
      '20261121T043226Z',
      '21-11-2026T04:32:26Z',
      '2026-02-29T00:00:00Z',
      '2026-13-01T00:00:00Z',
      '2026-00-10T00:00:00Z',
      '2026-11-31T00:00:00Z',
      '2026-11-21T24:00:00Z',
      '2026-11-21T23:60:00Z',
      '2026-11-21T23:59:61Z',
      '2026-11-21T04:32:26+24:00',
      '2026-11-21T04:32:26Z[Asia/Jakarta]',
      '2026-11-21T04:32:26,5Z',
      ' 2026-11-21T04:32:26Z',
      '-000001-01-01T00:00:00Z',
      'now',
    ];
    for (const field of ['created_at', 'processed_at']) {
      for (const value of [...times, 1_795_242_895, true, {}]) {
        const line = lineAbout('TX9000000001', { status: 'SUCCESS', [field]: value });
        await assertRejected(
          line,
          `${field} must be a time with its zone, for example 2026-11-21T04:32:26.123Z`,
          'TX9000000001',
        );
      }
    }
  });

  // Regression: they reached PostgreSQL, which rejected the whole batch, and each retry of the feed got 500.
  test('years that PostgreSQL or four digits cannot hold do not stop the feed', async () => {
    for (const time of [
      '0000-01-01T00:00:00Z',
      '0000-12-31T23:59:59.999Z',
      '0001-01-01T00:00:00+14:00',
      '9999-12-31T23:59:59-12:00',
    ]) {
      await assertRejected(
        lineAbout('TX9000000001', { created_at: time }),
        /^created_at must be a time/,
        'TX9000000001',
      );
    }
    const last = newId();
    const extremes = [
      [newId(), '0001-01-01T00:00:00Z'],
      [last, '9999-12-31T23:59:59.999Z'],
    ] as const;
    const first = extremes.map(([id, time]) => lineAbout(id, { created_at: time }));
    const ofLast = (reason: string) => ({ differences: [{ line: 2, transaction_id: last, reason }] });
    assert.deepEqual(
      reportOf(await post(service, first.join('\n'))),
      only({
        inserted: 2,
        ...ofLast('created_at: more than 12 hours after the update arrived; that time is stored instead'),
      }),
    );
    const final = extremes.map(([id, time]) => lineAbout(id, { created_at: time, status: 'SUCCESS' }));
    assert.deepEqual(
      reportOf(await post(service, final.join('\n'))),
      only({
        advanced: 2,
        ...ofLast('created_at: another value than in an earlier status update; the first value stays'),
      }),
    );
  });

  test('a time in any zone is stored in UTC, truncated to milliseconds', async () => {
    const id = newId();
    await post(service, lineAbout(id, { created_at: '2026-11-21 11:32:26.1239999+07:00' }));
    assert.match((await service.get(`/api/v1/check-status/${id}`)).text, /"created_at":"2026-11-21T04:32:26\.123Z"/);
  });

  const invalidValues: readonly (readonly [field: string, values: readonly unknown[], reason: string])[] = [
    [
      'client_id',
      [undefined, null, 7, '', 'a\u0000', 'x'.repeat(65)],
      'client_id must be a string: the client that owns it',
    ],
    ['client_id', ['unknown', 'ALPHA', 'alpha '], 'client_id is not a client of this service'],
    [
      'transaction_id',
      [
        undefined,
        null,
        20261121,
        '',
        'tb0000000001',
        'T0000000001',
        'TB12345',
        'ABCDEFGHIJK000000',
        `TB${'1'.repeat(33)}`,
        'TB0000000001 ',
        'TB000000000１',
      ],
      'transaction_id must be a string: 2 to 10 capital letters, then 6 to 32 digits',
    ],
    [
      'status',
      [undefined, null, 'DONE', 'success', 'PROCESS ', 1, 'constructor'],
      'status must be a string: one of PROCESS, SUCCESS, FAILED',
    ],
    [
      'reference_id',
      ['', 'a\u0000', 'a\nb', '\u007f', '\u0085', 'x'.repeat(129), 7, [], '\ud800', 'a\udc00b'],
      'reference_id must be 1 to 128 characters without control characters',
    ],
    ['currency', ['', 'idr', 'RP', 'IDRX', 360], 'currency must be three capital letters (ISO 4217)'],
    [
      'bank_code',
      ['', 'x'.repeat(33), 14, '0\u00001'],
      'bank_code must be a string of 1 to 32 characters without control characters',
    ],
    [
      'bank_name',
      ['', 'x'.repeat(101), '\ud800'],
      'bank_name must be a string of 1 to 100 characters without control characters',
    ],
    [
      'account_number',
      ['', '1234', '1'.repeat(35), 1234567890, '12345 67890', '12345a', '１２３４５'],
      'account_number must be 5 to 34 digits, as a string',
    ],
    [
      'account_name',
      ['', 'x'.repeat(141), '\udfff', 'BUDI\u001b[31m'],
      'account_name must be a string of 1 to 140 characters without control characters',
    ],
    [
      'description',
      ['x'.repeat(501), 5, 'a\u0000b', 'two\nlines'],
      'description must be a string of 0 to 500 characters without control characters',
    ],
  ];
  for (const [field, values, reason] of invalidValues) {
    test(`${field}, ${values.length} ways: ${reason}`, async () => {
      for (const value of values) {
        const id = field === 'transaction_id' ? undefined : 'TX9000000001';
        await assertRejected(lineAbout('TX9000000001', { [field]: value }), reason, id);
      }
    });
  }

  test('failure_reason: missing when FAILED, given when not', async () => {
    const missing = 'failure_reason must be given when status is FAILED';
    await assertRejected(lineAbout('TX9000000001', { status: 'FAILED' }), missing, 'TX9000000001');
    await assertRejected(
      lineAbout('TX9000000001', { status: 'FAILED', failure_reason: null }),
      missing,
      'TX9000000001',
    );
    for (const status of ['PROCESS', 'SUCCESS']) {
      const line = lineAbout('TX9000000001', { status, failure_reason: 'ACCOUNT_INACTIVE' });
      await assertRejected(line, 'failure_reason must be null unless status is FAILED', 'TX9000000001');
    }
    const [empty, long] = ['', 'x'.repeat(501)].map((reason) =>
      lineAbout('TX9000000001', { status: 'FAILED', failure_reason: reason }),
    );
    for (const line of [empty, long])
      await assertRejected(line ?? '', /^failure_reason must be a string of 1 to 500/, 'TX9000000001');
  });

  test('processed_at while PROCESS', () =>
    assertRejected(
      lineAbout('TX9000000001', { processed_at: '2026-11-21T04:40:00.000Z' }),
      'processed_at must be null while status is PROCESS',
      'TX9000000001',
    ));

  test('values that are not objects', async () => {
    for (const line of ['null', '[]', '"text"', '7', 'true', '1e3', `[${lineAbout('TX9000000001')}]`]) {
      await assertRejected(line, 'a transaction must be a JSON object', 'TX9000000001');
    }
  });

  test('properties that every object inherits are not fields of the update', async () => {
    const inherited = JSON.stringify({ __proto__x: 1 })
      .replace('__proto__x', '__proto__')
      .replace('1', lineAbout('TX9000000001'));
    await assertRejected(inherited, 'client_id must be a string: the client that owns it', 'TX9000000001');
  });
});

test('the faults of a feed are listed in line order, 10,000 of them, with the number of further ones', async () => {
  const lines = Array.from({ length: 12_000 }, (_, index) => {
    if (index % 3 === 0) return '{';
    // These are rejected only when their batch is applied.
    return JSON.stringify({ client_id: 'alpha', transaction_id: 'TX9000000001', status: 'SUCCESS' });
  });
  service.logged.length = 0;
  const { rejected, unlisted } = reportOf(await post(service, lines.join('\n')));
  // Regression: the access log counted those that are listed.
  const access = service.logged.find(({ feed }) => feed !== undefined);
  assert.match(String(access?.['feed']), / 12000 rejected$/);
  assert.equal(rejected.length, 10_000);
  assert.equal(unlisted, 2_000);
  const numbers = rejected.map(({ line }) => line);
  assert.deepEqual(
    numbers,
    numbers.toSorted((one, other) => one - other),
  );
});
