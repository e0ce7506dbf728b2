import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { findPostmaster } from '../../apps/server/src/embedded-postgres/postmaster.ts';
import type { SandboxDescription } from '../../apps/server/src/sandbox/description.ts';
import { type TestDirectory, useTestDirectory } from '../embedded-postgres/harness.ts';
import { send, statusUpdate } from '../support/requests.ts';
import { assertAllStopped, assertFailedStart } from './assertions.ts';
import { dataDirectoryOf, type RunningSandbox, startNpmSandbox } from './npm-process.ts';
import { type ProcessInfo, untilEnded } from './processes.ts';
import { portOf } from './production-settings.ts';

const RESTART_MAX_MS = 5_000;

test('the sandbox stops completely, and starts again with its data', async (t) => {
  const testDirectory = await useTestDirectory(t);
  let sandbox = await startNpmSandbox(testDirectory);
  const first = sandbox.description;
  let failedStartMs = 0;
  const fed = await send(`${first.operator_url}/feed/v1/transactions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${first.feed.access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify([statusUpdate({ client_id: first.clients[0].client_id, reference_id: 'KEPT' })]),
  });
  assert.equal(fed.status, 200, fed.text);

  await t.test('a second sandbox on its data directory fails with the reason, and does not disturb it', async () => {
    const file = path.join(dataDirectoryOf(testDirectory), 'sandbox.json');
    const before = await readFile(file, 'utf8');
    const reason = /Another Tiba is already running on the data directory .*TIBA_DATA_DIR/;
    const startedMs = performance.now();
    await assertFailedStart(testDirectory, ['start'], {}, reason);
    failedStartMs = performance.now() - startedMs;
    assert.equal(await readFile(file, 'utf8'), before);
    await assertSameAs(first, sandbox);
  });

  await t.test('Ctrl-C stops the service, the bank and PostgreSQL, with exit code 0', async () => {
    const processes = await sandbox.processTree();
    assertAllRunning(processes);
    sandbox.signalGroup('SIGINT');
    assert.equal(await sandbox.exited, 0);
    await assertAllStopped(testDirectory, processes);
  });

  await t.test('the next start is ready within 5 s, with the same credentials and data', async () => {
    const startedMs = performance.now();
    sandbox = await startNpmSandbox(testDirectory);
    const tookMs = performance.now() - startedMs;
    await assertSameAs(first, sandbox);
    // On a machine so busy that loading the program alone takes seconds, a start may take several times as long.
    const limitMs = Math.max(RESTART_MAX_MS, 3 * failedStartMs);
    assert.ok(tookMs < limitMs, `took ${Math.round(tookMs)} ms, more than ${Math.round(limitMs)} ms`);
  });

  await t.test('kill -9 of the service ends the bank, and the next start replaces its PostgreSQL', async () => {
    const processes = await sandbox.processTree();
    const service = await sandbox.program();
    const left = await findPostmaster(testDirectory.dataDirectory);
    process.kill(service.pid, 'SIGKILL');
    await sandbox.exited;
    await untilEnded(processes.filter(({ command }) => command.includes('apps/bank')));
    sandbox = await startNpmSandbox(testDirectory);
    await untilEnded(processes);
    assert.notEqual((await findPostmaster(testDirectory.dataDirectory))?.pid, left?.pid);
    await assertSameAs(first, sandbox);
  });

  await t.test('SIGTERM to npm alone also stops everything, even when the terminal is closed', async () => {
    const processes = await sandbox.processTree();
    sandbox.closeTerminal();
    sandbox.signal('SIGTERM');
    assert.equal(await sandbox.exited, 0);
    await assertAllStopped(testDirectory, processes);
  });

  await t.test('the error for a port in use says what to do, and no process is left running', () =>
    assertFailsWithPortInUse(testDirectory),
  );
});

/** Regression: the database came first, and the second port that was taken was found by the next start. */
test('a start on taken ports names all of them, before it creates a database', async (t) => {
  const testDirectory = await useTestDirectory(t);
  const occupants = [createServer().listen(0, '127.0.0.1'), createServer().listen(0, '127.0.0.1')];
  try {
    await Promise.all(occupants.map((occupant) => once(occupant, 'listening')));
    const [port, operatorPort] = occupants.map((occupant) => String(portOf(occupant)));
    const ports = { TIBA_PORT: String(port), TIBA_OPERATOR_PORT: String(operatorPort), TIBA_SNAP_PORT: '0' };
    const reason = /set TIBA_PORT to another[^\n]*\n[^\n]*set TIBA_OPERATOR_PORT to another/;
    await assertFailedStart(testDirectory, ['start'], ports, reason);
    assert.ok(!(await readdir(dataDirectoryOf(testDirectory))).includes('postgres'));
  } finally {
    for (const occupant of occupants) occupant.close();
  }
});

/** The credentials and the stored data are those of the first start. */
async function assertSameAs(first: SandboxDescription, { description }: RunningSandbox): Promise<void> {
  const secrets = ({ clients, feed }: SandboxDescription) => [...clients, feed].map((each) => each.client_secret);
  assert.deepEqual(secrets(description), secrets(first));
  const { json } = await send(`${description.base_url}/api/v1/check-status?reference_id=KEPT`, {
    headers: { authorization: `Bearer ${description.clients[0].access_token}` },
  });
  assert.equal(json.data?.['reference_id'], 'KEPT');
}

function assertAllRunning(processes: readonly ProcessInfo[]): void {
  for (const part of ['main.ts sandbox', 'apps/bank', 'postgres -D']) {
    assert.ok(
      processes.some(({ command }) => command.includes(part)),
      part,
    );
  }
}

async function assertFailsWithPortInUse(testDirectory: TestDirectory): Promise<void> {
  const occupant = createServer().listen(0, '127.0.0.1');
  await once(occupant, 'listening');
  const address = occupant.address();
  assert.ok(address !== null && typeof address === 'object');
  const port = String(address.port);
  try {
    const reason = new RegExp(`port ${port} on 127\\.0\\.0\\.1 is taken by another program.*set TIBA_PORT `);
    await assertFailedStart(testDirectory, ['start'], { TIBA_PORT: port }, reason);
    await assertAllStopped(testDirectory, []);
  } finally {
    occupant.close();
  }
}
