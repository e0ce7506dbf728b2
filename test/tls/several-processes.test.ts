import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { send } from '../support/requests.ts';
import { startServe } from '../support/serve.ts';
import { createTlsFiles } from './files.ts';

/** More than the workers, one after the other: each worker gets some of them. */
const CONNECTIONS = 8;

async function presentedBy(url: string): Promise<string[]> {
  const names: string[] = [];
  for (let index = 0; index < CONNECTIONS; index += 1) {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' });
    await once(socket, 'secureConnect');
    names.push(String(socket.getPeerCertificate().subject['CN']));
    socket.destroy();
  }
  return [...new Set(names)];
}

test('with several processes each one renews its certificate, and no request fails', async (context) => {
  const database = await createTestDatabase();
  context.after(database.drop);
  const files = await createTlsFiles();
  context.after(files.remove);
  const served = await startServe({
    database,
    stdout: 'pipe',
    environment: {
      TIBA_PROCESSES: '2',
      TIBA_EVENT_LOOP_DELAY_MS: '0',
      TIBA_TLS_CERTIFICATE_FILE: files.certificateFile,
      TIBA_TLS_KEY_FILE: files.keyFile,
    },
  });
  context.after(served.release);
  let log = '';
  served.child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (log += chunk));
  // A worker that starts while the files are faulty would not.
  await eventually('all processes are ready', () => log.includes('all processes are ready'));
  assert.deepEqual(await presentedBy(served.url), ['first']);

  const ended = new AbortController();
  const statuses = new Set<unknown>();
  const load = async (): Promise<void> => {
    while (!ended.signal.aborted)
      await send(`${served.url}/unknown`, {}).then(
        ({ status }) => statuses.add(status),
        (error: unknown) => statuses.add(error),
      );
  };
  const running = [load(), load()];
  await files.replace(await files.issue('second'));
  await eventually('both present the new one', async () => {
    const names = await presentedBy(served.url);
    return names.length === 1 && names[0] === 'second';
  });
  // The parent checks the files before it replaces a worker.
  await files.replace({ ...(await files.issue('third')), privateKey: 'broken' });
  served.child.kill('SIGHUP');
  await eventually('the restart is refused', () => log.includes('restart refused'));
  assert.match(log, /TIBA_TLS_KEY_FILE must name a file with a private key/);
  assert.deepEqual(await presentedBy(served.operatorUrl), ['second']);
  ended.abort();
  await Promise.all(running);
  assert.deepEqual([...statuses], [404]);
});
