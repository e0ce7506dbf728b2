import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadResult } from '../../bench/load/load.ts';
import { measureInRounds, type Target } from '../../bench/measure.ts';

const target: Target = {
  title: 'a server',
  pid: process.pid,
  requests: {
    origin: 'http://127.0.0.1:9',
    method: 'GET',
    path: '/',
    headers: {},
    body: '',
    numbers: { order: 'random', below: 1 },
  },
};

/** Measures with a load that answers as many requests as are listed, run by run. */
async function measureAnswers(answers: readonly number[]) {
  const seconds: number[] = [];
  const run = ({ seconds: duration }: { readonly seconds: number }): Promise<LoadResult> => {
    const answered = answers[seconds.push(duration) - 1] ?? 0;
    return Promise.resolve({ answered, failed: 0, seconds: duration, p50Ms: 1, p99Ms: 1 });
  };
  const context = {
    signal: new AbortController().signal,
    logProgress: () => {},
    load: { name: 'scripted', connections: 1, run },
  };
  const durations = { warmUpSeconds: 1, rounds: 1, roundSeconds: 1 };
  const measured = measureInRounds(context, { target }, durations);
  return { measured, seconds };
}

/** Regression: a quick run beside the other tests ended with "0 requests failed of about 0". */
test('a round without an answer is followed by longer ones', async () => {
  // The first run is the warm-up.
  const { measured, seconds } = await measureAnswers([0, 0, 0, 8]);
  assert.equal((await measured).target[0]?.perSecond, 2);
  assert.deepEqual(seconds, [1, 1, 2, 4]);
});

test('a server that answers nothing ends the run', async () => {
  const { measured, seconds } = await measureAnswers([]);
  await assert.rejects(measured, /a server: 0 requests failed of about 0/);
  assert.deepEqual(seconds, [1, 1, 2, 4, 8, 16]);
});
