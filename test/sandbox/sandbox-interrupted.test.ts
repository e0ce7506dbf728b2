import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { until, useTestDirectory } from '../embedded-postgres/harness.ts';
import { send } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { assertAllStopped } from './assertions.ts';
import { startNpm, startNpmSandbox } from './npm-process.ts';
import { processTreeOf, untilEnded } from './processes.ts';

test('the sandbox that is interrupted', async (t) => {
  const place = await useTestDirectory(t);

  await t.test('with Ctrl-C while it is being made leaves nothing running', async () => {
    const npm = startNpm(place, ['start']);
    await npm.untilOutput('making a new PostgreSQL data directory');
    const family = await npm.processTree();
    npm.signalGroup('SIGINT');
    assert.equal(await npm.exited, 0);
    await assertAllStopped(place, family);
  });

  await t.test(
    'by a second Ctrl-C does not wait for requests under way, and still leaves nothing running',
    async () => {
      const sandbox = await startNpmSandbox(place);
      const { base_url: url, operator_url: operatorUrl, clients, accounts } = sandbox.description;
      const family = await sandbox.processTree();
      const check = (): Promise<unknown> =>
        send(`${url}/api/v1/check-account`, {
          method: 'POST',
          headers: { authorization: `Bearer ${clients[0].access_token}`, 'content-type': 'application/json' },
          body: JSON.stringify(accounts.silent),
        }).catch(() => null);
      const asked = [check(), check()];
      // The second question joins the first, and so tells that the first is on its way to the silent bank.
      await until('the bank is asked', async () =>
        /tiba_inquiries_shared_total 1/.test((await send(`${operatorUrl}/metrics`, {})).text),
      );

      const program = await sandbox.program();
      const startedMs = performance.now();
      // One that came when its program has ended would end npm, which could not tell how that ended.
      while ((await processTreeOf(program.pid)).length > 0) {
        sandbox.signalGroup('SIGINT');
        await delay(50);
      }
      assert.equal(await sandbox.exited, 1);
      assert.ok(performance.now() - startedMs < timeLimitMs(3_000));
      await Promise.all(asked);
      await untilEnded(family);
    },
  );
});
