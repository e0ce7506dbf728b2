import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import pino from 'pino';
import { createMetrics } from '../../apps/server/src/observability/metrics.ts';
import { startOpenTelemetry } from '../../apps/server/src/observability/tracing/open-telemetry.ts';
import { createSpanQueue, type SendResult } from '../../apps/server/src/observability/tracing/span-queue.ts';
import { eventually } from '../support/eventually.ts';
import { neverRespond, type Respond, respondWith, startHttpReceiver } from '../support/http-receiver.ts';

/** A collector that is away, hangs or lies costs spans, which are counted, and nothing else. */

async function startTracing(context: TestContext, respond: Respond) {
  const collector = await startHttpReceiver({ context, respond });
  const { traceSpans } = createMetrics();
  const { tracing, close } = startOpenTelemetry({
    url: `${collector.url}/v1/traces`,
    headers: {},
    resource: { 'service.name': 'tiba' },
    sampling: { ratio: 1, followsParent: true },
    spans: traceSpans,
    log: pino({ level: 'silent' }),
  });
  const counted = async (outcome: string): Promise<number> =>
    (await traceSpans.get()).values.find(({ labels }) => labels.outcome === outcome)?.value ?? 0;
  const end = (count: number): void => {
    for (let index = 0; index < count; index += 1) tracing.begin('step', 'internal')?.end();
  };
  return { collector, close, counted, end };
}

suite('a faulty collector', { concurrency: true }, () => {
  test('that is busy gets the same spans again', async (context) => {
    const { collector, close, counted, end } = await startTracing(context, respondWith(503));
    end(3);
    await collector.untilReceived(1);
    collector.respond = respondWith(200, '{}');
    await eventually('the spans are exported', async () => (await counted('exported')) === 3);
    const [first, second] = collector.requests;
    assert.equal(second?.body, first?.body);
    await close();
    assert.equal(await counted('dropped'), 0);
  });

  test('that refuses some of the spans: they count as dropped', async (context) => {
    const answer = JSON.stringify({ partialSuccess: { rejectedSpans: '2', errorMessage: 'x' } });
    const { close, counted, end } = await startTracing(context, respondWith(200, answer));
    end(5);
    await close();
    assert.deepEqual([await counted('exported'), await counted('dropped')], [3, 2]);
  });

  for (const [what, answer] of [
    ['no JSON', 'thanks'],
    ['null', 'null'],
    ['a negative number', '{"partialSuccess":{"rejectedSpans":-5}}'],
  ]) {
    test(`that answers ${what}`, async (context) => {
      const { close, counted, end } = await startTracing(context, respondWith(200, answer));
      end(2);
      await close();
      assert.deepEqual([await counted('exported'), await counted('dropped')], [2, 0]);
    });
  }

  for (const status of [302, 400, 401, 500]) {
    test(`that answers ${status} is sent them once`, async (context) => {
      const { collector, close, counted, end } = await startTracing(
        context,
        respondWith(status, '', { location: '/elsewhere' }),
      );
      end(2);
      await close();
      assert.deepEqual([await counted('exported'), await counted('dropped')], [0, 2]);
      assert.equal(collector.requests.length, 1);
    });
  }

  test('whose answer has no end is read for its first bytes only', async (context) => {
    const chunk = 'x'.repeat(64 * 1024);
    let sent = 0;
    const endless: Respond = (response) => {
      const write = (): void => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length;
      };
      response.on('drain', write);
      write();
    };
    const { close, counted, end } = await startTracing(context, endless);
    end(1);
    await close();
    assert.equal(await counted('exported'), 1);
    // What the sockets hold between the two.
    assert.ok(sent < 32 * 1024 * 1024, `${sent} bytes`);
  });

  test('that hangs holds neither the process nor more than the queue', async (context) => {
    const { collector, close, counted, end } = await startTracing(context, neverRespond);
    end(5_000);
    assert.equal(await counted('dropped'), 5_000 - 2_048);
    await collector.untilReceived(1);
    const startedMs = performance.now();
    await close();
    assert.ok(performance.now() - startedMs < 30_000);
    assert.deepEqual([await counted('exported'), await counted('dropped')], [0, 5_000]);
  });

  test('that is away: no span is lost until the queue is full', async () => {
    const results: SendResult[] = [{ kind: 'unavailable', reason: 'ECONNREFUSED' }];
    const batches: number[][] = [];
    const changes: (string | null)[] = [];
    const counts: string[] = [];
    const queue = createSpanQueue<number>({
      async send(batch) {
        batches.push([...batch]);
        return results.shift() ?? { kind: 'taken', rejected: 0 };
      },
      count: (outcome, spans) => counts.push(`${outcome} ${spans}`),
      onChange: (failure) => changes.push(failure),
    });
    for (let index = 0; index < 600; index += 1) queue.add(index);
    await queue.close();
    assert.deepEqual(
      batches.map((batch) => [batch[0], batch.length]),
      [
        [0, 512],
        [0, 512],
        [512, 88],
      ],
    );
    assert.deepEqual(changes, ['ECONNREFUSED', null]);
    assert.deepEqual(counts, ['exported 512', 'exported 88']);
    queue.add(1);
    assert.equal(counts.at(-1), 'dropped 1');
  });
});
