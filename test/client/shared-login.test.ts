import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendTransaction, startScriptedService } from './scripted-service.ts';
import { createVirtualClock } from './virtual-clock.ts';

test('each caller is told of the repetitions of a login that it shares, while it waits', async (context) => {
  const clock = createVirtualClock();
  const { tiba, logins } = await startScriptedService(context, (response) => sendTransaction(response), {
    random: () => 0,
    clock,
    failedLogins: 2,
  });
  const reported: string[] = [];
  const left = new AbortController();
  const thrown = new Error('a fault of the caller');
  const calls = [
    tiba.checkStatus('TB000001', {
      onRetry({ operation, error_code: code }, waitMs) {
        reported.push(`${operation} ${code} ${waitMs}`);
        left.abort();
        queueMicrotask(() => clock.fireNext());
      },
    }),
    tiba.checkStatus('TB000002', { onRetry: () => assert.equal(left.signal.aborted, true) }),
    tiba.checkStatus('TB000003'),
  ] as const;
  const leaver = tiba.checkStatus('TB000004', { signal: left.signal, onRetry: () => reported.push('has left') });
  // Regression: a caller whose listener threw was told of further repetitions, after its call had ended.
  let faultyCalls = 0;
  const faulty = tiba.checkStatus('TB000005', {
    onRetry() {
      faultyCalls += 1;
      throw thrown;
    },
  });
  await Promise.all([
    assert.rejects(leaver, { name: 'AbortError' }),
    assert.rejects(faulty, (error) => error === thrown),
  ]);
  assert.deepEqual(
    (await Promise.all(calls)).map(({ status }) => status),
    ['SUCCESS', 'SUCCESS', 'SUCCESS'],
  );
  assert.equal(faultyCalls, 1);
  assert.equal(logins(), 3);
  const expected = 'createAccessToken SERVICE_UNAVAILABLE 1000';
  assert.deepEqual(reported, [expected, expected]);
});
