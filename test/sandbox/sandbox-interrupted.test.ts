import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { until, useTestDirectory } from '../embedded-postgres/harness.ts';
import { send } from '../support/requests.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { assertAllStopped } from './assertions.ts';
import { startNpm, startNpmSandbox } from './npm-process.ts';
import { processTreeOf, untilEnded } from './processes.ts';

test('an interrupted sandbox', async (t) => {
  const testDirectory = await useTestDirectory(t);

  await t.test('leaves no process running after Ctrl-C during its first start', async () => {
    const npm = startNpm(testDirectory, ['start']);
    await npm.untilOutput('creating a new PostgreSQL data directory');
    const processes = await npm.processTree();
    npm.signalGroup('SIGINT');
    assert.equal(await npm.exited, 0);
    await assertAllStopped(testDirectory, processes);
  });

  await t.test(
    'exits at a second Ctrl-C without waiting for requests in flight, and leaves no process running',
    async () => {
      const sandbox = await startNpmSandbox(testDirectory);
      const { base_url: url, operator_url: operatorUrl, clients, accounts } = sandbox.description;
      const processes = await sandbox.processTree();
      const check = (): Promise<unknown> =>
        send(`${url}/api/v1/check-account`, {
          method: 'POST',
          headers: { authorization: `Bearer ${clients[0].access_token}`, 'content-type': 'application/json' },
          body: JSON.stringify(accounts.silent),
        }).catch(() => null);
      const requests = [check(), check()];
      // The second check shares the inquiry of the first, which shows that an inquiry to the silent bank is in flight.
      await until('an inquiry is in flight', async () =>
        /tiba_inquiries_shared_total 1/.test((await send(`${operatorUrl}/metrics`, {})).text),
      );

      const program = await sandbox.program();
      const startedMs = performance.now();
      sandbox.signalGroup('SIGINT');
      // A signal after the program's exit would end npm, which then could not report the program's exit code.
      while ((await processTreeOf(program.pid)).length > 0) {
        await delay(50);
        interrupt(program.pid);
      }
      assert.equal(await sandbox.exited, 1);
      assert.ok(performance.now() - startedMs < timeLimitMs(3_000));
      await Promise.all(requests);
      await untilEnded(processes);
    },
  );
});

function interrupt(pid: number): void {
  try {
    process.kill(pid, 'SIGINT');
  } catch {
    // It has ended.
  }
}
