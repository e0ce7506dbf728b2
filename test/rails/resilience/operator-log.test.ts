import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestService } from '../../support/service.ts';
import { NOT_FOUND, noVerdict, scriptedRail } from './scripted-rail.ts';

test('the access log marks NOT_FOUND only when the account may be closed', async () => {
  for (const distinguishesClosed of [false, true]) {
    const service = await startTestService({ rails: [scriptedRail('only', () => NOT_FOUND, { distinguishesClosed })] });
    try {
      const { json } = await service.checkAccount({ bank_code: 'BCA', account_number: '1234567890' });
      assert.equal(json.data?.['status'], 'NOT_FOUND', 'the client sees NOT_FOUND');
      const line = service.logged.find((each) => each['outcome'] === 'NOT_FOUND');
      assert.equal(line?.['may_be_closed'], distinguishesClosed ? undefined : true);
    } finally {
      await service.close();
    }
  }
});

/** Regression: each probe that failed was logged as another opening of the circuit breaker. */
test('each change of a circuit breaker is logged once, with the rail and the bank', async () => {
  const rail = scriptedRail('only', () => noVerdict('unreachable'));
  // Before the process's own clock: by that one, each request has its time left.
  let nowMs = -60_000;
  const service = await startTestService({ rails: [rail], inquiries: { clock: () => nowMs } });
  try {
    const check = async (account: number): Promise<string | null> => {
      const body = { bank_code: 'BCA', account_number: String(1_234_567_000 + account) };
      return (await service.checkAccount(body)).headers.get('retry-after');
    };
    for (let account = 0; account < 4; account += 1) assert.equal(await check(account), '5');
    nowMs += 100;
    assert.equal(await check(4), '5', 'the fifth failure says when the bank is probed');
    nowMs += 3_500;
    assert.equal(await check(5), '2', 'and so do the next ones: 1.5 s, rounded up');
    nowMs += 1_500;
    assert.equal(await check(6), '10', 'the probe failed');
    nowMs += 10_000;
    rail.script = () => NOT_FOUND;
    assert.equal(await check(7), null);
    const changes = service.logged.filter((each) => each['msg'] !== undefined && each['rail'] === 'only');
    assert.deepEqual(
      changes.map(({ level, msg, probeInMs }) => [level, String(msg).split(':')[0], probeInMs]),
      [
        [40, 'circuit breaker opened', 5_000],
        [30, 'circuit breaker half open', undefined],
        [40, 'probe inquiry failed', 10_000],
        [30, 'circuit breaker half open', undefined],
        [30, 'circuit breaker closed', undefined],
      ],
    );
  } finally {
    await service.close();
  }
});
