import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type Answer, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { assertError, assertSuccess } from './assertions.ts';
import { exchangeOne, rawRequest } from './raw-connection.ts';

/** docs/contract.md 2.4, 4.1 and 4.2. */

const LONGEST = 'r'.repeat(128);
const LONGEST_ASTRAL = '𝒳'.repeat(128);

/** Likely reference IDs, and some unlikely ones. Each has a transaction. */
const REFERENCES = [
  'INV/2026/001',
  'INV%2F2026%2F001',
  'a b',
  ' a b ',
  'a+b',
  '100%',
  'q?x=1&reference_id=y#z',
  '..;/\\|<>\'"{}[]^`~',
  '..',
  '.',
  'Ref',
  'REF',
  'café',
  'cafe\u0301',
  'Überweisung – №7',
  '日本語 🎉',
  'x',
  LONGEST,
  LONGEST_ASTRAL,
  '\u2028\u200b\ufeff\uffff',
  '__proto__',
  'constructor',
  "'; drop table tiba.transactions; --",
  '0',
  'null',
];

const transactionIdOf = (index: number): string => `TB${String(index).padStart(10, '0')}`;

let service: TestService;
before(async () => {
  service = await startTestService();
  const words = REFERENCES.map((reference_id, index) =>
    statusUpdate({ reference_id, transaction_id: transactionIdOf(index) }),
  );
  const { json } = await service.feed(words);
  assert.equal(json.data?.['inserted'], REFERENCES.length, JSON.stringify(json));
});
after(() => service?.close());

const byPath = (encoded: string): Promise<Answer> =>
  exchangeOne(service.url, rawRequest('GET', `/api/v1/check-status/${encoded}`, { headers: authorized() }));
const byQuery = (query: string): Promise<Answer> =>
  exchangeOne(service.url, rawRequest('GET', `/api/v1/check-status${query}`, { headers: authorized() }));
const authorized = (): Record<string, string> => ({ authorization: `Bearer ${service.alpha.token}` });

/** Percent-encodes every byte, including those that need no encoding. */
const encodeAll = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

const assertFound = (answer: Answer, reference: string): void =>
  assert.equal(assertSuccess(answer)['reference_id'], reference);

suite('reference IDs are compared exactly', () => {
  test('1 to 128 Unicode characters: each finds its own transaction, by path and by query', async () => {
    for (const [index, reference] of REFERENCES.entries()) {
      for (const encoded of [encodeURIComponent(reference), encodeAll(reference)]) {
        const answers = [await byPath(encoded), await byQuery(`?reference_id=${encoded}`)];
        for (const answer of answers) {
          assertFound(answer, reference);
          assert.equal(answer.json.data?.['transaction_id'], transactionIdOf(index));
        }
      }
    }
  });

  test('no trimming, no change of case, no normalization', async () => {
    for (const near of ['a b ', ' a b', 'a  b', 'ref', 'rEF', 'INV/2026/001 ', 'cafe', 'CAFÉ', 'x\u200b']) {
      assertError(await byPath(encodeURIComponent(near)), 'TRANSACTION_NOT_FOUND');
      assertError(await byQuery(`?reference_id=${encodeURIComponent(near)}`), 'TRANSACTION_NOT_FOUND');
    }
  });
});

suite('path form', () => {
  test('the value is decoded once: %2F is a slash, %252F is %2F', async () => {
    assertFound(await byPath('INV%2F2026%2F001'), 'INV/2026/001');
    assertFound(await byPath('INV%2f2026%2f001'), 'INV/2026/001');
    assertFound(await byPath('INV%252F2026%252F001'), 'INV%2F2026%2F001');
    assertError(await byPath('INV%25252F2026%25252F001'), 'TRANSACTION_NOT_FOUND');
  });

  test('a slash that is not encoded belongs to the path: NOT_FOUND', async () => {
    assertError(await byPath('INV/2026/001'), 'NOT_FOUND');
    assertError(await byPath('x/'), 'NOT_FOUND');
  });

  test('a plus is a plus', async () => {
    assertFound(await byPath('a+b'), 'a+b');
    assertFound(await byPath('a%2Bb'), 'a+b');
  });

  test('the query is ignored', async () => {
    assertFound(await byPath('x?reference_id=Ref'), 'x');
    assertFound(await byPath('x?/%ZZ/y'), 'x');
  });

  test('a request target in absolute form names the same transaction', async () => {
    const target = 'http://tiba.test/api/v1/check-status/INV%2F2026%2F001';
    assertFound(await exchangeOne(service.url, rawRequest('GET', target, { headers: authorized() })), 'INV/2026/001');
  });

  test('a transaction ID first, then a reference ID', async () => {
    await service.feed([
      statusUpdate({ transaction_id: 'TX111111', reference_id: 'first' }),
      statusUpdate({ transaction_id: 'TX222222', reference_id: 'TX111111' }),
      statusUpdate({ transaction_id: 'TX333333', reference_id: 'TX444444' }),
    ]);
    assert.equal(assertSuccess(await byPath('TX111111'))['transaction_id'], 'TX111111');
    assert.equal(assertSuccess(await byPath('TX444444'))['transaction_id'], 'TX333333');
    assert.equal(assertSuccess(await byPath('%54X111111'))['transaction_id'], 'TX111111');
  });

  test('a prefix of 2 to 10 capital letters followed by 6 to 32 digits is a transaction ID', async () => {
    const ids = ['AB123456', `ABCDEFGHIJ${'7'.repeat(32)}`, 'ZZ000000', `QQ${'9'.repeat(32)}`];
    const { json } = await service.feed(
      ids.map((id) => statusUpdate({ transaction_id: id, reference_id: `of ${id}` })),
    );
    assert.equal(json.data?.['inserted'], ids.length);
    for (const id of ids) assert.equal(assertSuccess(await byPath(id))['transaction_id'], id);
  });

  test('a value that is not a transaction ID may be a reference ID: TRANSACTION_NOT_FOUND', async () => {
    const ids = [
      'A123456',
      'AB12345',
      'ABCDEFGHIJK123456',
      `AB${'1'.repeat(33)}`,
      'ab123456',
      'AB123456x',
      'AB１２３４５６',
    ];
    for (const id of ids) assertError(await byPath(encodeURIComponent(id)), 'TRANSACTION_NOT_FOUND');
  });
});

suite('query form', () => {
  test('matches reference IDs only', async () => {
    assertError(await byQuery(`?reference_id=${transactionIdOf(0)}`), 'TRANSACTION_NOT_FOUND');
    await service.feed([statusUpdate({ transaction_id: 'TX555555', reference_id: transactionIdOf(1) })]);
    const found = assertSuccess(await byQuery(`?reference_id=${transactionIdOf(1)}`));
    assert.equal(found['transaction_id'], 'TX555555');
  });

  test('exactly one non-empty reference_id: none, an empty one or two are INVALID_TRANSACTION_ID', async () => {
    for (const query of [
      '',
      '?',
      '?&',
      '?reference_id',
      '?reference_id=',
      '?reference_id=&x=y',
      '?other=x',
      '?Reference_ID=x',
      '?reference_id=x&reference_id=x',
      '?reference_id=x&reference_id=',
      '?reference_id&reference_id=x',
      '?reference_id=x&reference%5Fid=Ref',
      '?reference_id[]=x',
      '?reference_id[0]=x',
      '?=x',
      '?reference_id%3Dx',
    ]) {
      assertError(await byQuery(query), 'INVALID_TRANSACTION_ID');
    }
  });

  test('other parameters are ignored, even when malformed', async () => {
    for (const query of [
      '?a=1&reference_id=x',
      '?reference_id=x&b',
      '?%ZZ=%ZZ&reference_id=x&&=',
      '?=&reference_id=x',
    ]) {
      assertFound(await byQuery(query), 'x');
    }
  });

  test('a plus is a space, as in a form; %2B is a plus', async () => {
    assertFound(await byQuery('?reference_id=a+b'), 'a b');
    assertFound(await byQuery('?reference_id=a%2Bb'), 'a+b');
    assertFound(await byQuery('?reference_id=+a+b+'), ' a b ');
  });

  test('the name may be percent-encoded', async () => {
    assertFound(await byQuery('?reference%5Fid=x'), 'x');
    assertFound(await byQuery(`?${encodeAll('reference_id')}=x`), 'x');
  });

  test('the value is decoded once, and only & ends it', async () => {
    assertFound(await byQuery('?reference_id=INV%252F2026%252F001'), 'INV%2F2026%2F001');
    assertFound(await byQuery('?reference_id=INV/2026/001'), 'INV/2026/001');
    assertFound(await byQuery('?reference_id=q?x=1%26reference_id=y%23z'), 'q?x=1&reference_id=y#z');
  });
});

suite('INVALID_TRANSACTION_ID: a value that can be neither', () => {
  const CASES: Readonly<Record<string, readonly string[]>> = {
    empty: [''],
    'longer than 128 characters': [
      'r'.repeat(129),
      encodeURIComponent('é'.repeat(129)),
      encodeURIComponent('𝒳'.repeat(129)),
    ],
    'very long': ['r'.repeat(10_000)],
    'a control character': ['%00', '%01', 'a%09b', 'a%0Ab', '%0D%0A', '%1F', '%7F', '%C2%80', '%C2%9F', 'TB000000%00'],
    'a lone surrogate': ['%ED%A0%80', '%ED%BF%BF', 'a%ED%A0%BDb', '%ED%A0%BD%ED%B8%80'],
    'invalid UTF-8': ['%FF', '%80', '%C3', '%C0%AF', '%E0%80%AF', '%F4%90%80%80', '%F8%88%80%80%80', 'a%E2%82'],
    'broken percent-encoding': ['%', '%2', '%ZZ', '%2G', 'a%', '%%', '%u0041', 'x%2', '100%'],
  };

  for (const [name, values] of Object.entries(CASES)) {
    test(`${name}, in the path and in the query`, async () => {
      for (const value of values) {
        assertError(await byPath(value), 'INVALID_TRANSACTION_ID');
        assertError(await byQuery(`?reference_id=${value}`), 'INVALID_TRANSACTION_ID');
      }
    });
  }

  test('the message says what an identifier must be', async () => {
    const { json } = await byPath('%00');
    assert.match(json.message, /1 to 128 characters/);
  });
});

test('bytes beyond ASCII that are not percent-encoded are rejected, in the path and in the query', async () => {
  for (const bytes of ['é', 'caf\u00e9', '\u00c3\u00a9', '\u00ff', '\u0080']) {
    for (const answer of [await byPath(bytes), await byQuery(`?reference_id=${bytes}`)]) {
      assert.equal(answer.status, 400);
      assert.match(answer.json.error_code ?? '', /^INVALID_(?:TRANSACTION_ID|FORMAT)$/);
    }
  }
});
