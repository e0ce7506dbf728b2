import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pino from 'pino';
import { createAdmission } from '../../apps/server/src/http/admission.ts';
import { createServer as createListener } from '../../apps/server/src/http/server.ts';
import { createMetrics } from '../../apps/server/src/observability/metrics.ts';
import type { Answer } from '../support/service.ts';
import { openRawConnection, rawRequest } from './raw-connection.ts';

/**
 * Requests begin at the pace of the event loop. No test here depends on how fast the machine is: what a process answers
 * under overload is measured by `npm run bench -- --overload`.
 */

const PER_TURN = 32;

/**
 * Sends a request on each of `count` connections, so that the listener reads all of them in one turn. It accepts few
 * connections in a turn, so each has been used before.
 */
async function sendAtOnce(url: string, count: number, target: string): Promise<Answer[]> {
  const connections = await Promise.all(Array.from({ length: count }, () => openRawConnection(url)));
  try {
    for (const connection of connections) {
      connection.send(rawRequest('GET', '/livez'));
      await connection.read();
    }
    for (const connection of connections) connection.send(rawRequest('GET', target));
    return await Promise.all(
      connections.map(async (connection) => {
        const answer = await connection.read();
        assert.ok(answer !== null, 'closed without an answer');
        return answer;
      }),
    );
  } finally {
    for (const connection of connections) connection.end();
  }
}

suite('admission', () => {
  /** Enters `count` requests. What was decided so far, in the order of the decisions. */
  function enter(waitMaxMs: number, count: number) {
    const decided: { readonly index: number; readonly isAdmitted: boolean }[] = [];
    let rejections = 0;
    const admission = createAdmission({ waitMaxMs, onRejected: () => (rejections += 1) });
    const add = (first: number, last: number): void => {
      for (let index = first; index < last; index += 1)
        admission.enter((isAdmitted) => void decided.push({ index, isAdmitted }));
    };
    add(0, count);
    return { add, rejections: () => rejections, decided: () => decided.splice(0) };
  }

  test('begins 32 requests at once, and 32 in each further turn, in the order of their arrival', async () => {
    const { add, decided } = enter(Number.POSITIVE_INFINITY, 70);
    const admitted = (first: number, last: number) =>
      Array.from({ length: last - first }, (_, index) => ({ index: first + index, isAdmitted: true }));
    assert.deepEqual(decided(), admitted(0, PER_TURN));
    await nextTurn();
    assert.deepEqual(decided(), admitted(32, 64));
    add(70, 80);
    assert.deepEqual(decided(), []);
    await nextTurn();
    assert.deepEqual(decided(), admitted(64, 80));
    await nextTurn();
    add(80, 81);
    assert.deepEqual(decided(), admitted(80, 81));
  });

  test('rejects at most 16 in a turn that waited too long, so that those that arrive are begun', async () => {
    const { add, decided, rejections } = enter(0, 100);
    assert.equal(decided().length, PER_TURN);
    for (let turn = 0; turn < 4; turn += 1) {
      await nextTurn();
      const rejected = decided();
      assert.deepEqual(
        rejected.map(({ index, isAdmitted }) => [index, isAdmitted]),
        Array.from({ length: 16 }, (_, index) => [32 + turn * 16 + index, false]),
      );
      add(1_000 + turn, 1_001 + turn);
      assert.deepEqual(decided(), [{ index: 1_000 + turn, isAdmitted: true }]);
    }
    assert.equal(rejections(), 64);
  });
});

/** A listener that rejects nothing but what waited for too long. */
async function startListener(t: TestContext, waitMaxMs: number, onRejected: () => void = () => {}) {
  const app = createListener({
    name: 'operator',
    log: pino({ level: 'silent' }),
    accessLog: () => {},
    metrics: createMetrics(),
    trustedProxies: [],
    connections: { total: 1_000, perAddress: 1_000 },
    tls: null,
    load: { isOverloaded: () => false, waitMaxMs, noteRejection: onRejected },
    isStopping: () => false,
  });
  t.after(() => app.close());
  let begun = 0;
  let begunMax = 0;
  app.get('/livez', (_request, reply) => reply.send('alive'));
  app.get('/any', (_request, reply) => {
    if (begun === 0) setImmediate(() => (begun = 0));
    begun += 1;
    begunMax = Math.max(begunMax, begun);
    return reply.send('answered');
  });
  return { url: await app.listen({ host: '127.0.0.1', port: 0 }), begunMax: () => begunMax };
}

/**
 * Regression: one turn began all account checks that had arrived. They filled what may be in flight to a bank, and the
 * rest was rejected after most of its work, although the bank had answered by the next turn.
 */
test('of 200 requests at the same moment a turn begins at most 64, and all are answered', async (t) => {
  const { url, begunMax } = await startListener(t, Number.POSITIVE_INFINITY);
  const answers = await sendAtOnce(url, 200, '/any');
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  // As many while it reads them, and as many after that.
  assert.ok(begunMax() <= 2 * PER_TURN, `${begunMax()} began in one turn`);
});

test('requests that waited too long get 503 with Retry-After and are noted; health checks do not wait', async (t) => {
  let noted = 0;
  const { url } = await startListener(t, 0, () => (noted += 1));

  const health = await sendAtOnce(url, 100, '/livez');
  assert.deepEqual(new Set(health.map(({ status }) => status)), new Set([200]));

  const answers = await sendAtOnce(url, 100, '/any');
  const rejected = answers.filter(({ status }) => status === 503);
  assert.ok(answers.length - rejected.length >= PER_TURN);
  assert.equal(rejected.length, noted);
  for (const { json, headers } of rejected) {
    assert.equal(json.error_code, 'SERVICE_UNAVAILABLE');
    assert.equal(headers.get('retry-after'), '1');
  }
});
