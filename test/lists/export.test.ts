import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { parse as parseCsv } from 'csv-parse/sync';
import { assertError } from '../contract/assertions.ts';
import { createRandom } from '../contract/random.ts';
import { untilStatus } from '../contract/until.ts';
import { whileDatabaseRefuses } from '../support/database-outage.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { TRANSACTIONS, targetOf, walk } from './list-requests.ts';
import { feedTransactions, modelTransactions } from './transaction-model.ts';

/** docs/contract.md 4.5: an export has what the pages have. */

const COUNT = 620;
/** Of the client whose transactions are more than the buffers of a connection hold. */
const LARGE = 2_000;

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [] });
  await feedTransactions(service, modelTransactions(createRandom(1), 'alpha', COUNT));
});
after(() => service?.close());

const getExport = (type: string, parameters: Record<string, string> = {}, token = service.alpha.token) =>
  service.get(targetOf(TRANSACTIONS, parameters), { token, headers: { accept: type } });

const linesOf = ({ text }: Answer): Record<string, unknown>[] => {
  assert.ok(text === '' || text.endsWith('\n'));
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
};

test('NDJSON and CSV have the transactions of the pages, in their order', async () => {
  for (const parameters of [
    {},
    { status: 'SUCCESS' },
    { bank_code: '014', amount_from: '2' },
    { status: 'FAILED', overdue: 'false' },
  ]) {
    const pages = await walk(service, { ...parameters, limit: '200' });
    assert.ok(pages.length > 0);
    const ndjson = await getExport('application/x-ndjson', parameters);
    assert.equal(ndjson.headers.get('content-type'), 'application/x-ndjson; charset=utf-8');
    assert.equal(ndjson.headers.get('cache-control'), 'no-store');
    assert.deepEqual(linesOf(ndjson), pages);

    const csv = await getExport('text/csv', parameters);
    assert.equal(csv.headers.get('content-type'), 'text/csv; charset=utf-8');
    const rows = parseCsv(csv.text, { columns: true, record_delimiter: '\r\n' }) as Record<string, string>[];
    assert.deepEqual(
      rows.map(({ transaction_id: id }) => id),
      pages.map(({ transaction_id: id }) => id),
    );
    assert.deepEqual(Object.keys(rows[0] ?? {}), Object.keys(pages[0] ?? {}));
  }
});

test('CSV keeps amounts exact and account numbers whole, quotes, and guards formulas', async () => {
  const { clientId, token } = await service.addClient('csv', ['transactions:read']);
  const { json } = await service.feed([
    statusUpdate({
      client_id: clientId,
      reference_id: '=cmd|x',
      account_number: '0012345678',
      account_name: 'PT "MAJU", TBK',
      description: '+62 812',
      amount: '9007199254740993.01',
      fee: '0.10',
    }),
  ]);
  assert.equal(json.data?.['inserted'], 1);
  const { text } = await getExport('text/csv', {}, token);
  const [header, line, end] = text.split('\r\n');
  assert.equal(end, '');
  assert.match(header ?? '', /^transaction_id,reference_id,status,amount,fee,total_amount,bank_code/);
  assert.equal(
    line,
    "TB0000000001,'=cmd|x,PROCESS,9007199254740993.01,0.10,9007199254740993.11,014,Bank Central Asia,0012345678," +
      `"PT ""MAJU"", TBK",'+62 812,2026-11-21T04:32:26.123Z,,`,
  );
});

test("an export has the caller's own transactions only, and errors are in the envelope", async () => {
  const { text } = await getExport('application/x-ndjson', {}, service.beta.token);
  assert.equal(text, '');
  assertError(await getExport('text/csv', { status: 'DONE' }), 'INVALID_REQUEST', /status/);
  const { token } = await service.addClient('no-export', ['status:read']);
  assertError(await getExport('text/csv', {}, token), 'FORBIDDEN', /transactions:read/);
  assertError(await getExport('application/xml'), 'NOT_ACCEPTABLE');
});

test('one export of a client may run at a time, and two of all; a third has to wait until one has ended', async () => {
  const { token } = await service.addClient('greedy', ['transactions:read']);
  const other = await service.addClient('greedy-too', ['transactions:read']);
  // Long enough that an export is not complete while its client does not read: buffers of the kernel take megabytes.
  await service.app.database.query(
    `insert into tiba.transactions (client_id, transaction_id, reference_id, status, amount, fee, currency, bank_code,
       bank_name, account_number, account_name, description, created_at, processed_at, rendered, expected_by)
     select client, 'TB' || lpad(n::text, 10, '0'), 'r' || n, 'SUCCESS', 1, 0, 'IDR', '014', 'x', '12345', 'x',
            repeat('x', 20000), now(), now(), repeat(E'1\\x02', 4), now()
       from generate_series(1, $1::int) as n, unnest(array['greedy', 'greedy-too']) as client`,
    [LARGE],
  );
  const exports = [await openUnread(token)];
  assertError(await getExport('text/csv', {}, token), 'RATE_LIMIT_EXCEEDED', /An export of yours is running/);
  // No client keeps the others out.
  exports.push(await openUnread(other.token));
  assert.deepEqual(
    exports.map(({ statusCode }) => statusCode),
    [200, 200],
  );
  const refused = await getExport('text/csv');
  assertError(refused, 'SERVICE_UNAVAILABLE', /exports of other clients are running/);
  assert.equal(refused.headers.get('retry-after'), '60');
  assert.equal((await service.get(TRANSACTIONS)).status, 200, 'pages are read meanwhile');
  exports[0]?.destroy();
  await eventually('the place of an export that was broken off is free', async () => {
    const third = await openUnread(token);
    exports.push(third);
    return third.statusCode === 200;
  });
  for (const each of exports) each.destroy();
  await eventually('another client may export', async () => (await getExport('text/csv')).status === 200);
});

/** Opens an export that is not read yet. */
async function openUnread(token: string): Promise<http.IncomingMessage> {
  const request = http.get(service.url + TRANSACTIONS, {
    agent: false,
    headers: { authorization: `Bearer ${token}`, accept: 'application/x-ndjson' },
  });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  response.on('error', () => {});
  return response;
}

function tokenOfGreedy(): Promise<string> {
  const client = service.app.clients.find('greedy') ?? assert.fail();
  return service.app.issue(client, ['transactions:read'], 900);
}

test('an export goes on after PostgreSQL was away; one that has not begun is SERVICE_UNAVAILABLE', async () => {
  const begun = await openUnread(await tokenOfGreedy());
  const chunks: string[] = [];
  const closed = once(begun, 'close');
  await whileDatabaseRefuses(service.database, async () => {
    assertError(await untilStatus(503, () => getExport('text/csv')), 'SERVICE_UNAVAILABLE');
    begun.setEncoding('utf8').on('data', (chunk: string) => void chunks.push(chunk));
    await eventually('what was read before the outage arrives', () => chunks.length > 0);
  });
  await closed;
  const lines = chunks.join('').split('\n');
  assert.equal(lines.length, LARGE + 1, 'each transaction has a line, and the last line is complete');
  assert.ok(begun.complete);
});

test('an export that lasts too long ends with a broken connection', async (t) => {
  const begun = await openUnread(await tokenOfGreedy());
  const { now } = performance;
  t.mock.method(performance, 'now', () => now.call(performance) + 10 * 60_000);
  await assert.rejects(begun.toArray());
  t.mock.restoreAll();
  assert.ok(!begun.complete);
});

test('an export whose client is disabled meanwhile ends with a broken connection, never like a complete one', async () => {
  const token = await tokenOfGreedy();
  const response = await fetch(service.url + TRANSACTIONS, {
    headers: { authorization: `Bearer ${token}`, accept: 'application/x-ndjson' },
  });
  assert.equal(response.status, 200);
  await service.app.database.query("update tiba.clients set disabled_at = now() where client_id = 'greedy'");
  await service.app.clients.reload();
  await assert.rejects(response.text());
});
