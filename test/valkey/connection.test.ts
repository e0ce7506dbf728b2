import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { atValkey } from '../../apps/server/src/valkey/connection.ts';
import { createSharedCache } from '../../apps/server/src/valkey/shared-cache.ts';
import { createSharedConcurrencyLimiter } from '../../apps/server/src/valkey/shared-concurrency.ts';
import { createSharedCounter } from '../../apps/server/src/valkey/shared-counter.ts';
import { createSharedLog } from '../../apps/server/src/valkey/shared-log.ts';
import { openSharedWindows } from '../../apps/server/src/valkey/shared-windows.ts';
import { createAuthority } from '../rails/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { freePort, startTestValkey, VALKEY_MISSING } from '../support/valkey.ts';
import { admitted, openProcesses, type TestProcess, TIMEOUT_MS, takeAll } from './limiter-processes.ts';

/** How operators connect Tiba to Valkey: with TLS, and as a user with no more rights than it needs. */

async function documentedRights(): Promise<string[]> {
  const page = await readFile(new URL('../../docs/operating.md', import.meta.url), 'utf8');
  const [, rights = ''] = /needs\s+`(\+@connection[^`]*)`\s+on the keys `tiba:\*`/.exec(page) ?? [];
  return rights.split(/\s+/);
}

describe('a connection to Valkey', { skip: VALKEY_MISSING }, () => {
  test('needs no more rights than docs/operating.md names', async (t) => {
    const valkey = await startTestValkey();
    t.after(valkey.stop);
    const rights = await documentedRights();
    await valkey.command('ACL', 'SETUSER', 'tiba', 'on', '>p@ss', '~tiba:*', ...rights);
    const url = valkey.url.replace('//', '//tiba:p%40ss@');
    const [only] = (await openProcesses(t, { url }, 1)) as [TestProcess];
    const { windows } = only;
    const onDecidedAlone = (): void => assert.fail('decided alone');
    const shared = { windows, liveProcesses: () => 1, onDecidedAlone };
    const counter = createSharedCounter({ ...shared, name: 'counter', lifetimeMs: 60_000 });
    const log = createSharedLog(windows, 'log', 60_000);
    const open = createSharedConcurrencyLimiter({ ...shared, name: 'open', processId: 'one' });
    const cache = createSharedCache(windows, 'cache');
    const useAll = async (): Promise<void> => {
      assert.equal(admitted(await takeAll(only, 200)), 120);
      assert.equal(await counter.take('day', 5), true);
      counter.raise('day', 4);
      assert.equal((await log.append('client', ['one', 'two'], 0))?.index, 2);
      assert.equal(await open.acquire('client', 1), true);
      open.release('client');
      cache.put('key', 'value', 60_000);
      assert.equal((await cache.find('key'))?.value, 'value');
      assert.equal(await counter.take('day', 5), true);
      assert.ok(windows.isPresent());
    };
    await useAll();
    // What was admitted is restored, and a window whose oldest entries leave is cut.
    const key = 'tiba:{limits:0}:test client';
    const [oldest, total] = (await valkey.command('LRANGE', key, '0', '1')) as [string, string];
    await valkey.command('LSET', key, '0', String(Number(oldest) - 61_000 * 1_024));
    assert.ok(Number(total) > 0);
    assert.equal((await only.limiter.peek('client', 120)).remaining, 120);
    await valkey.command('FLUSHALL');
    await eventually('the loss is noticed', async () => {
      await only.limiter.peek('client', 120);
      return !windows.isPresent();
    });
    await eventually('all is restored', windows.isPresent);
    assert.equal(admitted(await takeAll(only, 10)), 0);
    const denied = (await valkey.command('ACL', 'LOG')) as unknown[];
    assert.deepEqual(denied, [], 'nothing was denied');
  });

  test('uses TLS and the password of a rediss: URL, and trusts no unknown certificate', async (t) => {
    const authority = await createAuthority();
    const directory = await mkdtemp(path.join(tmpdir(), 'tiba-valkey-tls-'));
    t.after(() => rm(directory, { recursive: true }));
    const { certificate, privateKey } = await authority.issue('valkey');
    const [certificateFile, keyFile] = [path.join(directory, 'valkey.pem'), path.join(directory, 'valkey.key')];
    await writeFile(certificateFile, certificate);
    await writeFile(keyFile, privateKey);
    const tlsPort = await freePort();
    const options = `--tls-auth-clients no --tls-port ${tlsPort} --tls-cert-file ${certificateFile} --tls-key-file ${keyFile}`;
    const valkey = await startTestValkey(`${options} --tls-ca-cert-file ${certificateFile}`.split(' '));
    t.after(valkey.stop);
    await valkey.command('ACL', 'SETUSER', 'tiba', 'on', '>p@ss', '~tiba:*', ...(await documentedRights()));
    const url = `rediss://tiba:p%40ss@127.0.0.1:${tlsPort}`;

    const proxy = await startTcpProxy(tlsPort);
    t.after(proxy.close);
    const viaProxy = url.replace(String(tlsPort), String(proxy.port));
    const distrustful = openSharedWindows({
      ...atValkey({ url: viaProxy, cluster: false }),
      timeoutMs: TIMEOUT_MS,
      onChange: () => {},
    });
    t.after(distrustful.close);
    await eventually('it has tried several times', () => proxy.accepted() >= 3);
    assert.equal(distrustful.isPresent(), false);

    // As NODE_EXTRA_CA_CERTS does. The authorities of other files have the same name, so they are left out.
    setDefaultCACertificates([...getCACertificates('bundled'), authority.certificate]);
    const [only] = (await openProcesses(t, { url }, 1)) as [TestProcess];
    assert.equal(admitted(await takeAll(only, 200)), 120);
    assert.equal(only.decidedAlone(), 0);
  });
});
