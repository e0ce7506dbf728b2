import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Connection } from '../../apps/server/src/rails/protocol.ts';
import { readRailsFile } from '../../apps/server/src/rails/rails-file.ts';
import { PROFILES } from '../../apps/server/src/rails/snap/profiles/profiles.ts';
import type { SnapSettings } from '../../apps/server/src/rails/snap/settings.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { testBanks } from '../support/service.ts';

const rsa = rsaKeys();
const pkcs8 = { type: 'pkcs8', format: 'pem' } as const;

const FILES: Readonly<Record<string, string>> = {
  'secret.txt': 'the client secret\n',
  'empty.txt': '\n',
  'key.pem': rsa.privateKey.export(pkcs8),
  'public.pem': rsa.publicKey.export({ type: 'spki', format: 'pem' }),
  'elliptic.pem': generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export(pkcs8),
  'locked.pem': rsa.privateKey.export({ ...pkcs8, cipher: 'aes-256-cbc', passphrase: 'unknown' }),
};

const RAIL = {
  name: 'bca',
  protocol: 'snap',
  base_url: 'https://api.bank.example/openapi/',
  client_key: 'client-key',
  client_secret_file: 'secret.txt',
  private_key_file: 'key.pem',
  partner_id: 'TIBA',
  channel_id: '95221',
  own_bank: 'BCA',
  banks: ['014', 'SYCAIDJ1'],
};

describe('the rails file', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'tiba-rails-'));
    for (const [name, content] of Object.entries(FILES)) await writeFile(path.join(directory, name), content);
  });
  after(() => rm(directory, { recursive: true, force: true }));

  async function read(content: unknown): Promise<{ connections: Connection[]; faults: string[] }> {
    const file = path.join(directory, 'rails.json');
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
    return { connections: [], faults: [], ...readRailsFile(file, testBanks) };
  }
  const faultsOf = async (...rails: object[]): Promise<string[]> => (await read({ rails })).faults;

  it('describes each connection: secrets are files next to it, banks are named by any of their codes', async () => {
    const { connections, faults } = await read({
      rails: [RAIL, { ...RAIL, name: 'other', own_bank: undefined, banks: '*' }],
    });
    assert.deepEqual(faults, []);
    const [bca, other] = connections.map(({ settings }) => settings as SnapSettings);
    assert.equal(bca?.clientSecret, 'the client secret');
    assert.ok(bca.privateKey.equals(rsa.privateKey));
    assert.equal(bca.ownBank, 'CENAIDJA');
    assert.deepEqual(bca.banks, new Set(['CENAIDJA', 'SYCAIDJ1']));
    assert.deepEqual([other?.name, other?.ownBank, other?.banks], ['other', null, null]);
  });

  it('says how a connection reaches e-wallets, and what is missing for it', async () => {
    const wallets = {
      DANA: { service: '37', path: '/v1.0/emoney/account-inquiry.htm', additional_info: { fundType: 'A' } },
      gopay: { service: '37', amount: '1.00', mobile_number: 'national' },
      OVO: { service: '16', bank: '009' },
      LINKAJA: { service: '16' },
      ISAKU: { service: '16', prefix: '79390' },
    };
    const { connections, faults } = await read({
      rails: [{ ...RAIL, banks: '*', bank_code: 'clearing_code', wallets }],
    });
    assert.deepEqual(faults, []);
    const [snap] = connections.map(({ settings }) => settings as SnapSettings);
    assert.deepEqual(
      [...(snap?.wallets ?? [])],
      [
        [
          'DANA',
          {
            service: '37',
            path: '/v1.0/emoney/account-inquiry.htm',
            amount: '10000.00',
            additionalInfo: { fundType: 'A' },
            mobile: 'international',
          },
        ],
        [
          'GOPAY',
          {
            service: '37',
            path: '/v1.0/emoney/account-inquiry',
            amount: '1.00',
            additionalInfo: null,
            mobile: 'national',
          },
        ],
        ['OVO', { service: '16', bankCode: { sent: '009', echoed: '009' }, prefix: '84', mobile: 'national' }],
        ['LINKAJA', { service: '16', bankCode: { sent: '911', echoed: '911' }, prefix: '', mobile: 'national' }],
        ['ISAKU', { service: '16', bankCode: { sent: '022', echoed: '022' }, prefix: '79390', mobile: 'national' }],
      ],
    );
  });

  it('names each fault of the way to an e-wallet', async () => {
    const faulty = {
      BCA: { service: '37' },
      DANA: { service: '37' },
      GOPAY: { service: '37' },
      OVO: { service: '16' },
      ISAKU: { service: '16', bank: 'DANA' },
    };
    assert.deepEqual(await faultsOf({ ...RAIL, banks: ['BCA', 'DANA', 'GOPAY', 'OVO', 'LINKAJA'], wallets: faulty }), [
      'bca: wallets: BCA is not an e-wallet of the bank directory',
      'bca: wallets: OVO: bank is missing: the bank that holds the virtual accounts',
      'bca: wallets: ISAKU is missing in banks',
      'bca: wallets: ISAKU: bank: DANA has no code that this connection could send',
      'bca: wallets: DANA and GOPAY need another path or additional_info, or the bank cannot tell which one is meant',
      'bca: banks names OVO, which wallets does not',
      'bca: banks names LINKAJA, which wallets does not',
    ]);
    const [other] = await faultsOf({ ...RAIL, wallets: { DANA: { service: '38' } } });
    assert.match(other ?? '', /\/rails\/0\/wallets\/DANA/);
    const acmt = {
      name: 'verify',
      protocol: 'acmt',
      base_url: 'https://verify.example',
      banks: ['BCA', 'GOPAY'],
      version: '03',
      agent_bic: 'TIBAIDJA',
      scheme_id: 'SCHEME',
      path: '/verify',
      name_element: 'Pty/Nm',
    };
    assert.deepEqual(await faultsOf(acmt), ['verify: banks: acmt does not reach e-wallets']);
    const aliases = { ...acmt, banks: ['BIFAST'] };
    assert.deepEqual(await faultsOf(aliases), ['verify: banks: acmt does not reach aliases']);
  });

  it('says which connections resolve aliases, and names each fault of them', async () => {
    const mandiri = {
      ...RAIL,
      own_bank: 'MANDIRI',
      profile: 'mandiri',
      route: 'bifast',
      route_parameters: { category_purpose: '51001', debtor_account: '1234567890' },
      aliases: {},
    };
    const { connections, faults } = await read({ rails: [{ ...mandiri, banks: ['BRI', 'BIFAST'] }] });
    assert.deepEqual(faults, []);
    const [snap] = connections.map(({ settings }) => settings as SnapSettings);
    assert.deepEqual(snap?.aliases, { mobile: 'international' });

    assert.deepEqual(await faultsOf({ ...RAIL, banks: '*', aliases: { mobile_number: 'national' } }), [
      'bca: aliases: the route has no inquiry by alias',
    ]);
    const incomplete = { ...mandiri, banks: ['BRI'], route_parameters: {} };
    assert.deepEqual(await faultsOf(incomplete), [
      'bca: aliases is given, and the alias directory is missing in banks',
      'bca: route_parameters.category_purpose is missing or malformed',
      'bca: route_parameters.debtor_account is missing or malformed',
    ]);
    assert.deepEqual(await faultsOf({ ...RAIL, banks: ['BCA', 'BIFAST'] }), [
      'bca: banks names the alias directory, and aliases is missing',
    ]);
  });

  it("selects the SNAP profile: ASPI's standard, or another one with the operator's changes", async () => {
    const bca = {
      ...RAIL,
      profile: 'bca',
      channel_id: undefined,
      route: 'bifast',
      route_parameters: { source_account_no: '8880001000', amount: '10000.00', purpose_code: '99' },
      origin: 'tiba.example',
      signature: 'asymmetric',
      signature_encoding: 'hex',
      timestamp: 'utc',
      origin_header: 'x-origin',
      paths: { transfer_status: '/openapi/v3.0/transfer/status' },
    };
    const { connections, faults } = await read({ rails: [bca, { ...RAIL, name: 'other' }] });
    assert.deepEqual(faults, []);
    const [first, second] = connections.map(({ settings }) => settings as SnapSettings);
    const { services } = PROFILES.bca;
    assert.deepEqual(first?.profile, {
      ...PROFILES.bca,
      services: { ...services, transferStatus: { path: '/openapi/v3.0/transfer/status', code: '36' } },
      signature: { kind: 'asymmetric', encoding: 'hex' },
      timestamp: 'utc',
      originHeader: 'x-origin',
    });
    assert.deepEqual(first?.choices, {
      route: 'bifast',
      routeParameters: bca.route_parameters,
      origin: 'tiba.example',
      externalIdIsReference: false,
    });
    assert.deepEqual(second?.profile, PROFILES.aspi);
  });

  const FAULTS: Readonly<Record<string, [change: object, fault: RegExp]>> = {
    'a base URL without TLS': [{ base_url: 'http://api.bank.example' }, /base_url must be an https:\/\/ address/],
    'a base URL without a host': [{ base_url: 'https://' }, /base_url must be an https:\/\/ address/],
    'a base URL with a query': [
      { base_url: 'https://api.bank.example/?v=1' },
      /base_url must be .* without user, query/,
    ],
    'a base URL with a password': [
      { base_url: 'https://u:p@api.bank.example/' },
      /base_url must be .* without user, query/,
    ],
    'a secret file that does not exist': [
      { client_secret_file: 'none.txt' },
      /client_secret_file cannot be read: ENOENT/,
    ],
    'an empty secret': [{ client_secret_file: 'empty.txt' }, /client_secret_file is empty/],
    'a public key': [{ private_key_file: 'public.pem' }, /private_key_file is not an RSA private key/],
    'a key of another type': [{ private_key_file: 'elliptic.pem' }, /private_key_file is not an RSA private key/],
    'a key with a passphrase': [{ private_key_file: 'locked.pem' }, /private_key_file is not an RSA private key/],
    'a key file without a key': [{ private_key_file: 'secret.txt' }, /private_key_file is not an RSA private key/],
    'an unknown own bank': [{ own_bank: 'BANKNOTE' }, /own_bank: BANKNOTE is not in the bank directory/],
    'an unknown bank': [{ banks: ['014', '999'] }, /banks: 999 is not in the bank directory/],
    'no banks': [{ banks: [] }, /\/rails\/0\/banks/],
    'an unknown protocol': [{ protocol: 'telex' }, /\/rails\/0\/protocol must be one of snap, acmt, bi-fast$/],
    'an unknown field': [{ client_secret: 'in the wrong place' }, /\/rails\/0\/client_secret is not a known field/],
    'a name with capitals': [{ name: 'BCA' }, /\/rails\/0\/name/],
    'a channel that is too long': [{ channel_id: '952210' }, /\/rails\/0\/channel_id/],
    'an unknown profile': [{ profile: 'bank' }, /\/rails\/0\/profile/],
    'a route that the bank does not have': [
      { profile: 'mandiri', route: 'fast' },
      /route must be one of prima, atmb, bifast/,
    ],
    'a route without its parameters': [
      { profile: 'mandiri', route: 'bifast' },
      /route_parameters\.category_purpose is missing or malformed/,
    ],
    "another channel than the bank's": [{ profile: 'bca' }, /channel_id must be 95051/],
    'no channel': [{ channel_id: undefined }, /channel_id is missing/],
    'a partner id that is too long for the bank': [
      { profile: 'mandiri', partner_id: 'T'.repeat(17) },
      /partner_id is longer than the bank's maximum of 16 characters/,
    ],
    'a path without a leading slash': [{ paths: { access_token: 'v1.0' } }, /\/rails\/0\/paths\/access_token/],
    'a missing field': [{ client_key: undefined }, /\/rails\/0 .*client_key/],
  };
  for (const [what, [change, fault]] of Object.entries(FAULTS)) {
    it(`with ${what} has a fault that names the field`, async () => {
      const faults = await faultsOf({ ...RAIL, ...change });
      assert.match(faults.join('\n'), fault);
      assert.doesNotMatch(faults.join('\n'), /the client secret|in the wrong place|PRIVATE KEY|u:p/);
    });
  }

  it('reports each wrong field once: those of the file, of each connection and of the routes together', async () => {
    const { faults } = await read({
      rails: [
        { ...RAIL, client_secret: 'in the wrong place', profile: 'telex', paths: { none: '/' } },
        { ...RAIL, protocol: 'telex', client_secret: 'in the wrong place' },
        { ...RAIL, name: undefined, banks: ['BCA', 14] },
        { ...RAIL, banks: 14 },
        'bca',
      ],
      routes: [{ banks: ['BCA'], hedged: true }],
      rail: [],
    });
    assert.deepEqual(
      faults.toSorted(),
      [
        '/rail is not a known field',
        '/rails/0/client_secret is not a known field',
        '/rails/0/paths/none is not a known field',
        `/rails/0/profile must be one of ${Object.keys(PROFILES).join(', ')}`,
        '/rails/1/protocol must be one of snap, acmt, bi-fast',
        '/rails/2 must have required properties name',
        '/rails/2/banks/1 must be string',
        '/rails/3/banks must be "*", or must be array',
        '/rails/4 must be object',
        '/routes/0/hedged is not a known field',
      ].map((fault) => `TIBA_RAILS_FILE ${fault}`),
    );
  });

  it('with two connections of one name has a fault: the metrics could not distinguish them', async () => {
    assert.deepEqual(await faultsOf(RAIL, RAIL), ['bca: several connections have this name']);
  });

  it('reports all faults of all connections at once', async () => {
    const faults = await faultsOf(
      { ...RAIL, client_secret_file: 'none.txt', private_key_file: 'public.pem', base_url: 'http://bank.example' },
      { ...RAIL, name: 'other', own_bank: 'X', banks: ['Y', 'Z'] },
    );
    assert.deepEqual(
      faults.map((fault) => fault.split(/:? (?:must|cannot|is)/)[0]),
      [
        'bca: base_url',
        'bca: client_secret_file',
        'bca: private_key_file',
        'other: banks: Y',
        'other: banks: Z',
        'other: own_bank: X',
      ],
    );
  });

  const INVALID_FILES: Readonly<Record<string, unknown>> = {
    'text that is not JSON': 'rails:\n - name: bca',
    'no text': '',
    'an empty list of rails': { rails: [] },
    'an array': [RAIL],
    null: null,
  };
  for (const [what, content] of Object.entries(INVALID_FILES)) {
    it(`with ${what} as its content has a fault`, async () => {
      const { faults } = await read(content);
      assert.ok(faults.length > 0);
      assert.ok(faults.every((fault) => fault.startsWith('TIBA_RAILS_FILE')));
    });
  }

  it('that does not exist has a fault', () => {
    const result = readRailsFile(path.join(directory, 'none.json'), testBanks);
    assert.match('faults' in result ? result.faults.join() : '', /^TIBA_RAILS_FILE cannot be read: ENOENT/);
  });
});
