import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { type BankSettings, readSettings } from '../../apps/bank/src/settings.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { bankEnvironment } from './bank-process.ts';

const ENVIRONMENT = bankEnvironment(rsaKeys());

function read(changes: NodeJS.ProcessEnv): BankSettings {
  const result = readSettings({ ...ENVIRONMENT, ...changes });
  assert.ok('settings' in result, 'faults' in result ? result.faults.join(' ') : '');
  return result.settings;
}

function faultsOf(changes: NodeJS.ProcessEnv): readonly string[] {
  const result = readSettings({ ...ENVIRONMENT, ...changes });
  assert.ok('faults' in result);
  return result.faults;
}

describe('the settings of the bank', () => {
  it('have defaults for all but the partner', () => {
    const { host, port, channelId, tokenLifetimeSeconds, clockToleranceSeconds } = read({});
    assert.deepEqual(
      { host, port, channelId, tokenLifetimeSeconds, clockToleranceSeconds },
      { host: '127.0.0.1', port: 0, channelId: '95221', tokenLifetimeSeconds: 900, clockToleranceSeconds: 300 },
    );
  });

  it('enable no journal and no notifications by default', () => {
    const { journalFile, notifyUrl } = read({ BANK_JOURNAL_FILE: '', BANK_NOTIFY_URL: '' });
    assert.deepEqual({ journalFile, notifyUrl }, { journalFile: null, notifyUrl: null });
    assert.equal(read({ BANK_JOURNAL_FILE: 'bank.ndjson' }).journalFile, 'bank.ndjson');
  });

  for (const url of ['http://127.0.0.1:8080/notify?from=bank', 'http://127.8.9.10/', 'http://[::1]:8080/notify']) {
    it(`accept ${url} for notifications`, () => {
      assert.equal(read({ BANK_NOTIFY_URL: url }).notifyUrl?.href, url);
    });
  }

  for (const url of [
    'http://192.168.0.7/notify',
    'http://localhost/notify',
    'http://127.0.0.1.example.com/notify',
    'http://127.example.com/',
    'http://127.0.0.1@example.com/',
    'http://user:hunter2@127.0.0.1/',
    'http://[::ffff:192.168.0.7]/',
    'http://0.0.0.0/',
    'https://127.0.0.1/notify',
    'ftp://127.0.0.1/',
    '127.0.0.1:8080',
    '/notify',
  ]) {
    it(`reject ${url} for notifications`, () => {
      assert.deepEqual(faultsOf({ BANK_NOTIFY_URL: url }), [
        'BANK_NOTIFY_URL must be an http URL at a loopback address, such as http://127.0.0.1:8080/notify.',
      ]);
    });
  }

  it('report all faults at once', () => {
    const result = readSettings({ BANK_PORT: '65536', BANK_TOKEN_SECONDS: '15m', BANK_CHANNEL_ID: '952210' });
    assert.deepEqual('faults' in result && result.faults, [
      'BANK_CLIENT_PUBLIC_KEY is missing.',
      'BANK_PORT must be a whole number from 0 to 65535.',
      'BANK_CLIENT_KEY is missing.',
      'BANK_CLIENT_SECRET is missing.',
      'BANK_PARTNER_ID is missing.',
      'BANK_CHANNEL_ID is longer than 5 characters.',
      'BANK_TOKEN_SECONDS must be a whole number from 1 to 86400.',
    ]);
  });

  it('accept a public key with escaped line ends', () => {
    const escaped = ENVIRONMENT['BANK_CLIENT_PUBLIC_KEY']?.replaceAll('\n', String.raw`\n`);
    assert.ok(escaped?.includes(String.raw`\n`));
    assert.ok(read({ BANK_CLIENT_PUBLIC_KEY: escaped }).clientPublicKey.equals(read({}).clientPublicKey));
  });

  it('reject a private key in place of the public one', () => {
    const pem = rsaKeys().privateKey.export({ type: 'pkcs8', format: 'pem' });
    assert.deepEqual(faultsOf({ BANK_CLIENT_PUBLIC_KEY: pem }), [
      'BANK_CLIENT_PUBLIC_KEY holds a private key: give the public one only, and replace the key pair.',
    ]);
  });

  it('reject a key that is not RSA of 2048 bits or more', () => {
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey;
    const curve = generateKeyPairSync('ed25519').publicKey;
    for (const key of [weak, curve]) {
      assert.deepEqual(faultsOf({ BANK_CLIENT_PUBLIC_KEY: key.export({ type: 'spki', format: 'pem' }) }), [
        'BANK_CLIENT_PUBLIC_KEY must be an RSA key of at least 2048 bits.',
      ]);
    }
    assert.deepEqual(faultsOf({ BANK_CLIENT_PUBLIC_KEY: 'key' }), [
      'BANK_CLIENT_PUBLIC_KEY is not a public key in PEM format.',
    ]);
  });

  const productionEnvironments: NodeJS.ProcessEnv[] = [
    { NODE_ENV: 'production' },
    { NODE_ENV: ' Production' },
    { DATABASE_URL: 'postgres://tiba:hunter2@db/tiba' },
    { TIBA_RAILS_FILE: '/etc/tiba/rails.json' },
  ];
  for (const production of productionEnvironments) {
    it(`are rejected next to ${Object.entries(production).join()}, without showing its value`, () => {
      const [sentence = '', ...others] = faultsOf(production);
      assert.match(
        sentence,
        new RegExp(`refuses to start next to a production configuration \\(${Object.keys(production).join()}\\)`),
      );
      assert.doesNotMatch(sentence, /hunter2|rails\.json/);
      assert.deepEqual(others, []);
    });
  }

  it('are accepted in environments that are not production', () => {
    read({ NODE_ENV: 'test', DATABASE_URL: '' });
  });
});
