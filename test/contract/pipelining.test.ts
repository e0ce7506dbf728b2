import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import { eventually } from '../support/eventually.ts';
import { type Answer, send, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { assertError, assertSuccess } from './assertions.ts';
import { openRawConnection, rawRequest } from './raw-connection.ts';

/**
 * Regression: a connection could have any number of requests unanswered. 50 connections that pipelined and read nothing
 * ended a process with a heap of 128 MB within 2 s, and delayed another client's status check by 14 s.
 */

let service: TestService;
before(async () => {
  service = await startTestService();
  await service.feed(Array.from({ length: TRANSACTIONS }, (_, index) => transaction(index)));
});
after(() => service?.close());

const TRANSACTIONS = 10;
const idOf = (index: number): string => `TB${String(index).padStart(10, '0')}`;
const transaction = (index: number, changes: Record<string, unknown> = {}) =>
  statusUpdate({ transaction_id: idOf(index), reference_id: `INV/${index}`, ...changes });
const authorized = (): Record<string, string> => ({ authorization: `Bearer ${service.alpha.token}` });
const statusOf = (index: number): Buffer =>
  rawRequest('GET', `/api/v1/check-status/${idOf(index)}`, { headers: authorized() });

async function exchangeAll(requests: readonly Buffer[]): Promise<Answer[]> {
  const connection = await openRawConnection(service.url);
  try {
    connection.send(Buffer.concat(requests));
    const answers: Answer[] = [];
    for (let answer; answers.length < requests.length && (answer = await connection.read()) !== null; )
      answers.push(answer);
    return answers;
  } finally {
    connection.end();
  }
}

/** The requests to a route that were answered since the start, whether their answers were sent or not. */
async function answeredCount(route: string): Promise<number> {
  const { text } = await send(`${service.operatorUrl}/metrics`, {});
  const lines = text.split('\n').filter((line) => line.startsWith(`tiba_http_requests_total{route="${route}"`));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

/** Responses that wait behind the first one. */
const QUEUED_MAX = 2;

suite('a client that pipelines 1,000 requests is answered in order', () => {
  test('status checks of different transactions', async () => {
    const answers = await exchangeAll(Array.from({ length: 1_000 }, (_, index) => statusOf(index % TRANSACTIONS)));
    assert.deepEqual(
      answers.map(({ json }) => json.data?.['transaction_id']),
      Array.from({ length: 1_000 }, (_, index) => idOf(index % TRANSACTIONS)),
    );
  });

  test('short requests without a token, of which all arrive in one piece', async () => {
    const answers = await exchangeAll(
      Array.from({ length: 1_000 }, (_, index) => rawRequest('GET', index % 2 === 0 ? '/api/v1/banks' : '/unknown')),
    );
    assert.equal(answers.length, 1_000);
    for (const [index, answer] of answers.entries())
      assertError(answer, index % 2 === 0 ? 'UNAUTHORIZED' : 'NOT_FOUND');
  });

  test('requests with and without bodies, by length and in chunks', async () => {
    const headers = { ...authorized(), 'content-type': 'application/json' };
    const chunks = '8\r\n{"bank_c\r\n9\r\node":"X"}\r\n0\r\n\r\n';
    const kinds: readonly [Buffer, (answer: Answer) => void][] = [
      [
        rawRequest('POST', '/api/v1/check-account', { headers, body: '{"bank_code":"NOPE"}' }),
        (answer) => assertError(answer, 'INVALID_BANK_CODE'),
      ],
      [statusOf(1), (answer) => assertSuccess(answer)],
      [
        Buffer.concat([
          rawRequest('POST', '/api/v1/check-account', { headers: { ...headers, 'transfer-encoding': 'chunked' } }),
          Buffer.from(chunks),
        ]),
        (answer) => assertError(answer, 'INVALID_BANK_CODE'),
      ],
      [
        rawRequest('POST', '/api/v1/check-account', { headers, body: 'x'.repeat(10_000) }),
        (answer) => assertError(answer, 'INVALID_FORMAT'),
      ],
    ];
    const kindOf = (index: number) => kinds[index % kinds.length] as (typeof kinds)[number];
    // The last kind closes the connection, so it comes once, at the end.
    const count = 100 * (kinds.length - 1);
    const order = [...Array.from({ length: count }, (_, index) => index % (kinds.length - 1)), kinds.length - 1];
    const answers = await exchangeAll(order.map((kind) => kindOf(kind)[0]));
    assert.equal(answers.length, order.length);
    for (const [index, answer] of answers.entries()) kindOf(order[index] as number)[1](answer);
  });
});

/**
 * Regression: what followed the request behind which the parser was stopped, and was no request, closed the connection
 * without an answer.
 */
for (const requests of [1, 2, 3, 4]) {
  test(`malformed HTTP after ${requests} pipelined requests is answered, whenever it arrives`, async () => {
    const connection = await openRawConnection(service.url);
    try {
      connection.send(Buffer.concat(Array.from({ length: requests }, (_, index) => statusOf(index))));
      for (let index = 0; index < requests; index += 1) assertSuccess((await connection.read()) as Answer);
      connection.send(Buffer.from('malformed\r\n\r\n'));
      const answer = await connection.read();
      assert.ok(answer !== null, 'the connection was closed without an answer');
      assertError(answer, 'INVALID_FORMAT');
    } finally {
      connection.end();
    }
  });
}

test('CONNECT after pipelined requests: bytes for the tunnel are not parsed', async () => {
  const requests = Array.from({ length: 50 }, () => statusOf(1));
  const connection = await openRawConnection(service.url);
  try {
    connection.send(Buffer.concat([...requests, rawRequest('CONNECT', 'example.com:443'), ...requests]));
    for (const _ of requests) assertSuccess((await connection.read()) as Answer);
    assertError((await connection.read()) as Answer, 'METHOD_NOT_ALLOWED');
    assert.equal(await connection.read(), null);
  } finally {
    connection.end();
  }
});

suite('a connection has few requests unanswered, however many it pipelines', () => {
  test('the public listener, behind a request that waits', async () => {
    const route = '/api/v1/banks';
    const before = await answeredCount(route);
    const connection = await openRawConnection(service.url);
    try {
      const waits = rawRequest('GET', `/api/v1/check-status/${idOf(0)}`, {
        headers: { ...authorized(), prefer: 'wait=30' },
      });
      const others = Array.from({ length: 500 }, () => rawRequest('GET', route));
      connection.send(Buffer.concat([waits, ...others]));
      await eventually('the first request waits', () => service.app.longPollCount() > 0);
      assert.ok((await answeredCount(route)) - before <= QUEUED_MAX, 'more were read and answered');
      await service.feed(transaction(0, { status: 'SUCCESS' }));
      assertSuccess((await connection.read()) as Answer);
      for (const _ of others) assertError((await connection.read()) as Answer, 'UNAUTHORIZED');
    } finally {
      connection.end();
    }
  });

  test('the operator listener, behind a feed that waits for a lock', async () => {
    const before = await answeredCount('/livez');
    const rival = new pg.Client(service.database.connection);
    const connection = await openRawConnection(service.operatorUrl);
    try {
      await rival.connect();
      await rival.query('begin');
      await rival.query("select from tiba.transactions where client_id = 'alpha' and transaction_id = $1 for update", [
        idOf(1),
      ]);
      const feed = rawRequest('POST', '/feed/v1/transactions', {
        headers: { authorization: `Bearer ${service.core.token}`, 'content-type': 'application/json' },
        body: JSON.stringify(transaction(1, { status: 'SUCCESS' })),
      });
      const others = Array.from({ length: 500 }, () => rawRequest('GET', '/livez'));
      connection.send(Buffer.concat([feed, ...others]));
      await eventually('the feed waits', async () => {
        const { rowCount } = await rival.query(
          `select from pg_stat_activity
            where application_name = 'tiba' and wait_event_type = 'Lock' and datname = current_database()`,
        );
        return rowCount !== 0;
      });
      assert.ok((await answeredCount('/livez')) - before <= QUEUED_MAX, 'more were read and answered');
      await rival.query('commit');
      assertSuccess((await connection.read()) as Answer);
      for (const _ of others) assert.equal((await connection.read())?.status, 200);
    } finally {
      await rival.end();
      connection.end();
    }
  });
});
