import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadOrCreateCertificate } from '../../apps/bank/src/certificates.ts';
import { readRailsFile } from '../../apps/server/src/rails/rails-file.ts';
import { createAuthority } from '../rails/certificates.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { testBanks } from '../support/service.ts';

const rsaKey = rsaKeys().privateKey.export({ type: 'pkcs8', format: 'pem' });

const RAIL = {
  name: 'bca',
  protocol: 'snap',
  base_url: 'https://api.bank.example',
  client_key: 'client-key',
  client_secret_file: 'secret.txt',
  private_key_file: 'key.pem',
  partner_id: 'TIBA',
  channel_id: '95221',
  banks: '*',
};
const SWITCH = { ...RAIL, name: 'switch', banks: ['BCA', 'BRI'] };

const TLS = { client_certificate_file: 'client.pem', client_private_key_file: 'client-key.pem', ca_file: 'ca.pem' };

describe('the common fields of a connection in the rails file', () => {
  let directory: string;
  let client: { certificate: string; privateKey: string };
  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'tiba-rails-'));
    const authority = await createAuthority();
    client = await authority.issue('Tiba');
    const files = {
      'secret.txt': 'secret',
      'key.pem': rsaKey,
      'client.pem': client.certificate,
      'client-key.pem': client.privateKey,
      'ca.pem': authority.certificate,
    };
    for (const [name, content] of Object.entries(files)) await writeFile(path.join(directory, name), content);
  });
  after(() => rm(directory, { recursive: true, force: true }));

  async function read(content: object): Promise<ReturnType<typeof readRailsFile>> {
    const file = path.join(directory, 'rails.json');
    await writeFile(file, JSON.stringify(content));
    return readRailsFile(file, testBanks);
  }
  async function settingsOf(rail: object) {
    const result = await read({ rails: [rail] });
    assert.ok('connections' in result, JSON.stringify(result));
    return result.connections[0]?.settings;
  }
  async function faultsOf(content: object): Promise<readonly string[]> {
    const result = await read(content);
    return 'faults' in result ? result.faults : [];
  }

  it("refuse the simulated bank's authority, alone or among others, unless this is a rehearsal", async () => {
    const tls = await loadOrCreateCertificate({ directory: path.join(directory, 'bank'), names: ['localhost'] });
    const simulated = await readFile(tls.authorityFile, 'utf8');
    await writeFile(path.join(directory, 'authorities.pem'), `${client.certificate}\n${simulated}`);
    const file = path.join(directory, 'rails.json');
    for (const name of ['bank/ca.pem', 'authorities.pem']) {
      await writeFile(file, JSON.stringify({ rails: [{ ...RAIL, ca_file: name }] }));
      const refused = readRailsFile(file, testBanks);
      assert.ok('faults' in refused);
      assert.match(refused.faults.join(), /^bca: ca_file is the authority of the simulated bank, .* TIBA_STAGING=yes/);
      assert.ok('connections' in readRailsFile(file, testBanks, { staging: true }));
    }
  });

  it('give the quotas of the contract; an absent quota is no limit', async () => {
    assert.deepEqual((await settingsOf(RAIL))?.limits, {
      perSecond: null,
      perDay: null,
      concurrencyMax: null,
      isShared: true,
    });
    const limited = { ...SWITCH, banks: ['BCA'], quota_per_second: 20, quota_per_day: 50_000, concurrency_max: 10 };
    assert.deepEqual((await settingsOf(limited))?.limits, {
      perSecond: 20,
      perDay: 50_000,
      concurrencyMax: 10,
      isShared: false,
    });
  });

  it('read a client certificate, its key and the trusted authorities from files, and a proxy URL', async () => {
    assert.equal((await settingsOf(RAIL))?.transport, undefined);
    const transport = (await settingsOf({ ...RAIL, ...TLS, proxy_url: 'http://proxy.example:3128' }))?.transport;
    assert.equal(transport?.clientCertificate, client.certificate.trim());
    assert.equal(transport.clientPrivateKey, client.privateKey.trim());
    assert.match(transport.authorities ?? '', /BEGIN CERTIFICATE/);
    assert.equal(transport.proxyUrl, 'http://proxy.example:3128');
  });

  const INVALID: Readonly<Record<string, [changes: object, fault: RegExp]>> = {
    'a certificate without its key': [
      { client_certificate_file: 'client.pem' },
      /^bca: client_certificate_file and client_private_key_file must be given together$/,
    ],
    'a key of another certificate': [
      { ...TLS, client_private_key_file: 'key.pem' },
      /^bca: client_private_key_file is not the key of client_certificate_file$/,
    ],
    'a key file without a key': [
      { ...TLS, client_private_key_file: 'secret.txt' },
      /^bca: client_private_key_file is not a private key in PEM format$/,
    ],
    'a certificate file without a certificate': [
      { ...TLS, client_certificate_file: 'secret.txt' },
      /^bca: client_certificate_file is not a certificate in PEM format$/,
    ],
    'a file of authorities without a certificate': [
      { ca_file: 'secret.txt' },
      /^bca: ca_file contains no certificate in PEM format$/,
    ],
    'a file that does not exist': [{ ca_file: 'none.pem' }, /^bca: ca_file cannot be read: ENOENT/],
    'a proxy that is not a URL': [{ proxy_url: 'proxy.example' }, /^bca: proxy_url must be /],
    'a proxy with a password': [{ proxy_url: 'http://a:b@proxy.example' }, /^bca: proxy_url must be /],
    'a proxy of another protocol': [{ proxy_url: 'socks5://proxy.example' }, /^bca: proxy_url must be /],
    'a quota of 0': [{ quota_per_second: 0 }, /quota_per_second must be >= 1/],
    'a quota that is not whole': [{ quota_per_day: 1.5 }, /quota_per_day must be integer/],
    'a concurrency limit as text': [{ concurrency_max: '10' }, /concurrency_max must be integer/],
  };
  for (const [name, [changes, fault]] of Object.entries(INVALID)) {
    it(`${name} is a fault`, async () => {
      const faults = await faultsOf({ rails: [{ ...RAIL, ...changes }] });
      assert.equal(faults.length, 1, faults.join('\n'));
      assert.match(faults[0] ?? '', fault);
    });
  }

  it('report all faults at once', async () => {
    const wrong = { ...RAIL, client_certificate_file: 'none.pem', ca_file: 'secret.txt', proxy_url: 'ftp://x' };
    const faults = await faultsOf({ rails: [wrong], routes: [{ banks: ['NOBANK'], rails: ['unknown'] }] });
    assert.equal(faults.length, 6, faults.join('\n'));
  });

  it('no fault quotes a key', async () => {
    const faults = await faultsOf({ rails: [{ ...RAIL, ...TLS, ca_file: 'client-key.pem' }] });
    assert.ok(!faults.join().includes(client.privateKey.split('\n')[1] ?? ''));
  });
});

describe('the routes of the rails file', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'tiba-rails-'));
    await writeFile(path.join(directory, 'secret.txt'), 'secret');
    await writeFile(path.join(directory, 'key.pem'), rsaKey);
  });
  after(() => rm(directory, { recursive: true, force: true }));

  async function readRoutes(routes: unknown): Promise<ReturnType<typeof readRailsFile>> {
    const file = path.join(directory, 'rails.json');
    await writeFile(file, JSON.stringify({ rails: [RAIL, SWITCH], routes }));
    return readRailsFile(file, testBanks);
  }

  it('set the order of rails, and hedging, for banks by any of their codes', async () => {
    const result = await readRoutes([
      { banks: ['014', 'BRI'], rails: ['switch', 'bca'] },
      { banks: ['BMRIIDJA'], hedge: true },
    ]);
    assert.ok('routes' in result);
    assert.deepEqual(Object.fromEntries(result.routes), {
      CENAIDJA: { rails: ['switch', 'bca'], hedge: false },
      BRINIDJA: { rails: ['switch', 'bca'], hedge: false },
      BMRIIDJA: { rails: null, hedge: true },
    });
  });

  const INVALID: Readonly<Record<string, [routes: unknown, fault: RegExp]>> = {
    'a connection that does not exist': [
      [{ banks: ['BCA'], rails: ['bni'] }],
      /^routes 0: no connection has the name bni$/,
    ],
    'a connection that does not reach the bank': [
      [{ banks: ['BNI'], rails: ['switch'] }],
      /^routes 0: switch does not reach BNI$/,
    ],
    'a bank with two routes': [
      [{ banks: ['BCA'] }, { banks: ['CENAIDJA'], hedge: true }],
      /^routes 1: CENAIDJA already has a route$/,
    ],
    'a bank that is not in the directory': [
      [{ banks: ['ABC'] }],
      /^routes 0: banks: ABC is not in the bank directory$/,
    ],
    'a connection twice': [
      [{ banks: ['BCA'], rails: ['bca', 'bca'] }],
      /routes\/0\/rails must not have duplicate items/,
    ],
    'no connection at all': [[{ banks: ['BCA'], rails: [] }], /routes\/0\/rails/],
    'an unknown field': [[{ banks: ['BCA'], hedged: true }], /routes\/0/],
  };
  for (const [name, [routes, fault]] of Object.entries(INVALID)) {
    it(`${name} is a fault`, async () => {
      const result = await readRoutes(routes);
      const faults = 'faults' in result ? result.faults : [];
      assert.match(faults.join('\n'), fault);
    });
  }
});
