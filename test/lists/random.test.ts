import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { assertError, type ErrorCode } from '../contract/assertions.ts';
import { createFastClient, type FastClient } from '../contract/fast-client.ts';
import { createRandom } from '../contract/random.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { randomRequests } from '../support/suite-environment.ts';
import { ACCOUNT_CHECKS, pageOf, TRANSACTIONS } from './list-requests.ts';
import { ACCOUNTS, BANK_CODES, feedTransactions, modelTransactions, TIMES } from './transaction-model.ts';

/**
 * docs/contract.md 4.5 and 4.6: any request for a list is answered in the envelope (or as the export that it asked
 * for), without a 5xx. FC_SEED repeats a run, and RANDOM_REQUESTS is the number of requests.
 */

const REQUESTS = randomRequests(600);
const AT_ONCE = 50;

/** Stands for a cursor that the service issued, for the list without filters. */
const CURSOR = 'A-CURSOR-OF-THE-SERVICE';

let service: TestService;
let client: FastClient;
let cursor: string;
before(async () => {
  service = await startTestService({ rails: [] });
  client = createFastClient(service.url, AT_ONCE);
  await feedTransactions(service, modelTransactions(createRandom(1), 'alpha', 100));
  await service.checkAccount({ bank_code: '014', account_number: '1234567890' });
  cursor = pageOf(await service.get(`${TRANSACTIONS}?limit=1`), 'transactions').nextCursor ?? assert.fail();
});
after(async () => {
  await client?.close();
  await service?.close();
});

const NAMES = [
  'status',
  'created_from',
  'created_to',
  'processed_from',
  'processed_to',
  'checked_from',
  'checked_to',
  'bank_code',
  'account_number',
  'amount_from',
  'amount_to',
  'overdue',
  'request_id',
  'limit',
  'cursor',
];
const GOOD = ['SUCCESS', 'PROCESS', 'true', 'false', '1', '200', '150000.00', ...ACCOUNTS, ...BANK_CODES, ...TIMES];
/** Any code points, including lone surrogates, which are encoded as the replacement character. */
const anyText = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0x24f }), fc.integer({ min: 0, max: 0x10ffff })), { maxLength: 60 })
  .map((points) => encodeURIComponent(String.fromCodePoint(...points).toWellFormed()));
const bytes = fc
  .uint8Array({ maxLength: 40 })
  .map((each) => Array.from(each, (byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''));
const value = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...GOOD).map(encodeURIComponent) },
  { weight: 1, arbitrary: anyText },
  { weight: 1, arbitrary: bytes },
  { weight: 1, arbitrary: fc.constantFrom('', '%', '%ZZ', '+', '&', '=', '0', '-1', '1e999', 'NaN', "' or 1=1 --") },
);
const parameter = fc.tuple(
  fc.oneof({ weight: 30, arbitrary: fc.constantFrom(...NAMES) }, { weight: 1, arbitrary: anyText }),
  value,
);
/** Both ends of a range, in order unless they are equal. */
const range = (name: string, ends: readonly string[]): fc.Arbitrary<(readonly [string, string])[]> =>
  fc.tuple(fc.constantFrom(...ends), fc.constantFrom(...ends)).map((given) => {
    const [from, to] = given.toSorted() as [string, string];
    return [
      [`${name}_from`, encodeURIComponent(from)],
      [`${name}_to`, encodeURIComponent(to)],
    ];
  });
const one = (name: string, values: readonly string[]): fc.Arbitrary<(readonly [string, string])[]> =>
  fc.constantFrom(...values).map((each) => [[name, encodeURIComponent(each)]]);
/** What clients send: filters that are well-formed and go together, mostly. */
const wellFormed = fc
  .subarray(
    [
      range('created', TIMES),
      range('processed', TIMES),
      range('checked', TIMES),
      range('amount', ['0', '150000.00', '9']),
      one('status', ['SUCCESS', 'PROCESS', 'FAILED']),
      one('overdue', ['true', 'false']),
      one('bank_code', BANK_CODES),
      one('account_number', ACCOUNTS),
      one('limit', ['1', '200']),
      one('cursor', [CURSOR]),
    ],
    { maxLength: 3 },
  )
  .chain((filters) => fc.tuple(...filters))
  .map((pairs) => pairs.flat());
const target = fc
  .tuple(
    fc.constantFrom(TRANSACTIONS, TRANSACTIONS, ACCOUNT_CHECKS),
    fc.oneof(fc.array(parameter, { maxLength: 4 }), wellFormed),
  )
  .map(([path, pairs]) => path + (pairs.length === 0 ? '' : `?${pairs.map((pair) => pair.join('=')).join('&')}`))
  .map((text) => text.replaceAll(' ', '%20'));
const request = fc.record({
  target,
  method: fc.oneof(
    { weight: 20, arbitrary: fc.constant('GET') },
    { weight: 1, arbitrary: fc.constantFrom('HEAD', 'POST') },
  ),
  accept: fc.oneof(
    { weight: 8, arbitrary: fc.constant('application/json') },
    { weight: 2, arbitrary: fc.constantFrom('text/csv', 'application/x-ndjson', 'text/csv;q=0.5, */*') },
    { weight: 1, arbitrary: fc.constantFrom('text/html', 'application/json;q=0', '') },
  ),
  isAuthorized: fc.oneof({ weight: 30, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
});

const counts = new Map<string, number>();
const count = (outcome: string): void => void counts.set(outcome, (counts.get(outcome) ?? 0) + 1);

const ERRORS: readonly ErrorCode[] = [
  'UNAUTHORIZED',
  'NOT_ACCEPTABLE',
  'INVALID_REQUEST',
  'INVALID_BANK_CODE',
  'METHOD_NOT_ALLOWED',
  'RATE_LIMIT_EXCEEDED',
];

test(`${REQUESTS} random requests for lists: no 5xx, every answer in the envelope or the export`, async (t) => {
  const seed = Number(process.env['FC_SEED'] ?? randomInt(2 ** 31));
  t.diagnostic(`FC_SEED=${seed}`);
  const requests = fc.array(request, { minLength: AT_ONCE, maxLength: AT_ONCE });
  const property = fc.asyncProperty(requests, async (batch) => {
    const send = async ({ target: text, method, accept, isAuthorized }: (typeof batch)[number]): Promise<void> => {
      const path = text.replace(CURSOR, encodeURIComponent(cursor));
      const authorization = isAuthorized ? `Bearer ${service.alpha.token}` : 'Bearer x';
      const headers = { authorization, ...(accept === '' ? {} : { accept }) };
      const answer = await client.send(path, { method, headers });
      if (method === 'HEAD') {
        assert.ok(answer.status < 500, `${path} ${answer.status}`);
        assert.equal(answer.text, '');
      } else if (answer.status === 200) {
        const isJson = (answer.headers.get('content-type') ?? '').startsWith('application/json');
        if (isJson) pageOf(answer, path.startsWith(TRANSACTIONS) ? 'transactions' : 'account_checks');
        count(isJson ? 'page' : 'export');
      } else {
        const code = ERRORS.find((each) => each === answer.json.error_code) ?? assert.fail(`${path} ${answer.text}`);
        assertError(answer, code);
        count(code);
      }
    };
    await Promise.all(batch.map(send));
  });
  // To minimize fifty requests would take minutes, and the error already names the one that failed.
  await fc.assert(property, { seed, numRuns: Math.ceil(REQUESTS / AT_ONCE), endOnFailure: true });
  t.diagnostic(JSON.stringify(Object.fromEntries(counts)));
  for (const outcome of ['page', 'export', 'INVALID_REQUEST']) {
    assert.ok((counts.get(outcome) ?? 0) > 0, `no answer was ${outcome}`);
  }
  assert.deepEqual(
    service.logged.filter((line) => Number(line['level']) >= 50),
    [],
  );
});
