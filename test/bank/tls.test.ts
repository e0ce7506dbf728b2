import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { CertificateError, loadOrCreateCertificate } from '../../apps/bank/src/certificates.ts';
import { readSettings } from '../../apps/bank/src/settings.ts';
import { type BankReply, createBankHttp, NoReply } from '../../apps/server/src/rails/bank-http.ts';
import { createAuthority } from '../rails/certificates.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { BANK_MAIN, bankEnvironment } from './bank-process.ts';

const ENVIRONMENT = bankEnvironment(rsaKeys());

describe('the bank with TLS', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'tiba-bank-tls-'));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  const at = (name: string, names: readonly string[] = ['localhost', '127.0.0.1']) =>
    loadOrCreateCertificate({ directory: path.join(directory, name), names });

  it('keeps its certificate over restarts, in a folder that it creates; only its user can read the key', async () => {
    const first = await at('new/folder');
    assert.deepEqual(await at('new/folder'), first);
    const authority = new X509Certificate(await readFile(first.authorityFile));
    assert.ok(new X509Certificate(first.certificate).verify(authority.publicKey));
    const { mode } = await stat(path.join(directory, 'new/folder/bank-key.pem'));
    assert.equal(mode & 0o777, 0o600);
  });

  it('never writes the key of its authority', async () => {
    const { certificate, privateKey, authorityFile } = await at('keys');
    const key = createPrivateKey(privateKey);
    const authority = await readFile(authorityFile, 'utf8');
    assert.ok(new X509Certificate(certificate).checkPrivateKey(key));
    assert.ok(!new X509Certificate(authority).checkPrivateKey(key));
    assert.deepEqual((await readdir(path.join(directory, 'keys'))).toSorted(), ['bank-key.pem', 'bank.pem', 'ca.pem']);
    assert.ok(!authority.includes('PRIVATE KEY') && !certificate.includes('PRIVATE KEY'));
  });

  it('gets a new certificate when it needs another name, and when a file is of another one', async () => {
    const first = await at('names');
    const second = await at('names', ['localhost', 'bank.internal']);
    assert.notEqual(second.certificate, first.certificate);
    assert.equal(new X509Certificate(second.certificate).checkHost('bank.internal'), 'bank.internal');
    const foreign = await (await createAuthority()).issue('bank.internal');
    await writeFile(path.join(directory, 'names/bank-key.pem'), foreign.privateKey);
    assert.notEqual((await at('names', ['localhost', 'bank.internal'])).certificate, second.certificate);
  });

  it('says that it cannot use the folder', async () => {
    await writeFile(path.join(directory, 'file'), '');
    await assert.rejects(at('file'), (error) => {
      assert.ok(error instanceof CertificateError);
      assert.match(error.message, /^The certificates cannot be kept in BANK_TLS_DIR: .*ENOTDIR/);
      return true;
    });
  });

  it('needs BANK_TLS_DIR, and takes no other option', () => {
    assert.deepEqual(readSettings(ENVIRONMENT, ['--tls']), { faults: ['BANK_TLS_DIR is missing.'] });
    assert.deepEqual(readSettings(ENVIRONMENT, ['--tsl']), {
      faults: ['The simulated bank has the option --tls, and no --tsl.'],
    });
  });

  it('starts next to production settings only where TIBA_STAGING says that it is a rehearsal', () => {
    const production = { ...ENVIRONMENT, NODE_ENV: 'production', DATABASE_URL: 'postgres://localhost/tiba' };
    assert.match(String(Object.values(readSettings(production))), /refuses to start .*\(NODE_ENV, DATABASE_URL\)/);
    assert.ok('faults' in readSettings({ ...production, TIBA_STAGING: 'no' }));
    assert.ok('settings' in readSettings({ ...production, TIBA_STAGING: 'yes' }));
  });

  it('is refused by a service that is not staging, whatever authorities it trusts', async () => {
    const child = spawn(process.execPath, [BANK_MAIN, '--tls'], {
      env: { ...ENVIRONMENT, BANK_TLS_DIR: path.join(directory, 'process') },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      let printed = '';
      while (!/^Its certificate authority: .*$/m.test(printed)) {
        printed += String(await once(child.stdout, 'data', { signal: AbortSignal.timeout(20_000) }));
      }
      const [, origin = '', file = ''] =
        /listens on (https:\S+)\nIts certificate authority: (.*)\n/.exec(printed) ?? [];
      const authorities = await readFile(file, 'utf8');
      const post = async (transport: object): Promise<BankReply> => {
        const http = createBankHttp(origin, { authorities, ...transport });
        const headers = { 'content-type': 'application/json' };
        const reply = http.post('/simulation/clock', headers, '{"advance_seconds":0}', AbortSignal.timeout(4_000));
        return reply.finally(() => void http.close());
      };
      assert.equal((await post({ maySimulate: true })).status, 200);
      await assert.rejects(post({}), (error) => {
        assert.ok(error instanceof NoReply && error.reason === 'unreachable');
        assert.match(String(error.cause), /this is the simulated bank, which needs TIBA_STAGING=yes/);
        return true;
      });
    } finally {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
  });
});
