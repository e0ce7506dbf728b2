import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { createAddressGuard, isLoopback, parseNetwork } from '../../apps/server/src/outbound/address-guard.ts';
import { validateDestination } from '../../apps/server/src/outbound/destination.ts';
import {
  addressesV4,
  addressesV6,
  isSpecialV4,
  isSpecialV6,
  SPECIAL_V4,
  SPECIAL_V6,
  spellingsOfV4,
  spellingsOfV6,
  writeV4,
  writeV6,
} from './addresses.ts';
import { PUBLIC_ONLY } from './policies.ts';

const permits = createAddressGuard();
const seed = Number(process.env['FC_SEED'] ?? randomInt(2 ** 31));
const run = { seed, numRuns: 2_000 };

test('public addresses next to the special networks are permitted', () => {
  const four = [
    '1.1.1.1',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '172.15.0.1',
  ];
  const more = ['128.0.0.0', '172.32.0.1', '192.0.1.0', '198.17.255.255', '198.20.0.0', '223.255.255.255'];
  const six = ['2000::1', '2001:200::1', '2404:6800:4003::1', '2606:4700::1111', '2a00:1450::1', '3ffe::1'];
  for (const address of [...four, ...more, ...six]) assert.equal(permits(address), true, address);
});

test('a text that is no address in its usual spelling is blocked', () => {
  const others = [
    '',
    ' ',
    'localhost',
    'example.com',
    '127.1',
    '0177.0.0.1',
    '8.8.8',
    '134744072',
    '0x8.8.8.8',
    '8.8.8.8 ',
  ];
  const sixes = [
    '[2606:4700::1]',
    '2606:4700::1%eth0',
    '2606:4700::1%25',
    '::',
    '::1',
    ':::',
    '2606:4700::1/64',
    'fe80::1%1',
  ];
  for (const text of [...others, ...sixes, '8.8.8.8/32', '8.8.8.8\0', '８.8.8.8']) {
    assert.equal(permits(text), false, JSON.stringify(text));
  }
});

test('the first and the last address of every special network are blocked', () => {
  for (const { first, last } of SPECIAL_V4) {
    for (const address of [first, last])
      assert.equal(permits(writeV4(Number(address))), false, writeV4(Number(address)));
  }
  for (const { first, last } of SPECIAL_V6) {
    for (const address of [first, last]) assert.equal(permits(writeV6(address)), false, writeV6(address));
  }
});

suite(`random addresses (seed ${seed}; repeat with FC_SEED)`, () => {
  const isRejected = (spelling: string): void => {
    const result = validateDestination(`https://${spelling}/`, PUBLIC_ONLY);
    assert.ok('fault' in result, `https://${spelling}/ was permitted`);
  };

  test('no IPv4 address of a special network is permitted in any spelling', () => {
    const special = fc
      .oneof(...SPECIAL_V4.map(addressesV4))
      .chain((address) => fc.tuple(fc.constant(address), spellingsOfV4(address)));
    fc.assert(
      fc.property(special, ([address, spelling]) => {
        assert.equal(permits(writeV4(address)), false, writeV4(address));
        isRejected(spelling);
      }),
      run,
    );
  });

  test('no IPv6 address of a special network is permitted in any spelling', () => {
    const special = fc
      .oneof(...SPECIAL_V6.map(addressesV6))
      .chain((address) => fc.tuple(fc.constant(address), spellingsOfV6(address)));
    fc.assert(
      fc.property(special, ([address, spelling]) => {
        assert.equal(permits(writeV6(address)), false, writeV6(address));
        assert.equal(permits(spelling), false, spelling);
        isRejected(`[${spelling}]`);
      }),
      run,
    );
  });

  test('an IPv4 address is permitted in all spellings if and only if it is in no special network', () => {
    const any = fc.nat(2 ** 32 - 1).chain((address) => fc.tuple(fc.constant(address), spellingsOfV4(address)));
    fc.assert(
      fc.property(any, ([address, spelling]) => {
        const expected = !isSpecialV4(BigInt(address));
        assert.equal(permits(writeV4(address)), expected, writeV4(address));
        assert.equal('url' in validateDestination(`https://${spelling}/`, PUBLIC_ONLY), expected, spelling);
      }),
      run,
    );
  });

  test('an IPv6 address is permitted if and only if it is global unicast and in no special network', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }), fc.boolean(), (number, isGlobal) => {
        const address = isGlobal ? (number & (2n ** 125n - 1n)) | (1n << 125n) : number;
        assert.equal(permits(writeV6(address)), !isSpecialV6(address), writeV6(address));
      }),
      run,
    );
  });
});

suite('the allowed networks', () => {
  const allowing = createAddressGuard(['10.1.0.0/16', '127.0.0.1', 'fd00::/8', '::1']);

  test('are permitted, and no address next to them', () => {
    for (const address of ['10.1.0.0', '10.1.255.255', '127.0.0.1', 'fd12::1', '::1', '1.1.1.1', '2606:4700::1']) {
      assert.equal(allowing(address), true, address);
    }
    for (const address of ['10.0.255.255', '10.2.0.0', '127.0.0.2', 'fc00::1', '::2', '::', '192.168.0.1']) {
      assert.equal(allowing(address), false, address);
    }
  });

  test('do not permit the IPv6 forms of an IPv4 address', () => {
    for (const address of ['::ffff:10.1.0.1', '::10.1.0.1', '64:ff9b::10.1.0.1', '::ffff:127.0.0.1', '::ffff:a01:1']) {
      assert.equal(allowing(address), false, address);
    }
  });

  test('never permit a cloud metadata service', () => {
    const careless = createAddressGuard(['0.0.0.0/0', '::/0']);
    for (const address of [
      '169.254.169.254',
      '100.100.100.200',
      '168.63.129.16',
      'fd00:ec2::254',
      'fd20:ce::254',
      'fe80::1',
    ]) {
      assert.equal(careless(address), false, address);
    }
    assert.equal(careless('10.0.0.1'), true);
  });

  test('never permit the IPv6 forms of a cloud metadata address, but permit the addresses next to it', () => {
    const forms: readonly ((address: bigint) => bigint)[] = [
      (address) => (0xffffn << 32n) | address, // mapped
      (address) => address, // compatible
      (address) => (0x64ff9bn << 96n) | address, // NAT64
      (address) => (0x2002n << 112n) | (address << 80n), // 6to4
    ];
    const careless = createAddressGuard(['0.0.0.0/0', '::/0']);
    const nat64 = createAddressGuard(['64:ff9b::/96']);
    const cases: readonly (readonly [address: bigint, isPermitted: boolean])[] = [
      [0xa9fe_a9fen, false], // 169.254.169.254
      [0xa9fe_0000n, false],
      [0xa9fd_ffffn, true],
      [0x6464_64c8n, false], // 100.100.100.200
      [0x6464_64c9n, true],
      [0xa83f_8110n, false], // 168.63.129.16
      [0xa83f_8111n, true],
      [0xc000_00c0n, false], // 192.0.0.192
      [0x0a00_0001n, true],
      [0x0808_0808n, true],
    ];
    for (const [address, isPermitted] of cases) {
      for (const text of forms.map((form) => writeV6(form(address)))) {
        assert.equal(careless(text), isPermitted, text);
      }
      const behindNat64 = writeV6((0x64ff9bn << 96n) | address);
      assert.equal(nat64(behindNat64), isPermitted, behindNat64);
    }
    for (const spelling of ['::ffff:169.254.169.254', '64:ff9b::169.254.169.254', '2002:A9FE:A9FE::1', '::a9fe:a9fe']) {
      assert.equal(careless(spelling), false, spelling);
    }
    assert.equal(careless('::1'), true);
  });

  test('that are invalid throw instead of being ignored', () => {
    for (const text of [
      '',
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0.0/-1',
      '10.0.0/8',
      'fd00::/129',
      'example.com',
      '10.0.0.0/8/8',
    ]) {
      assert.equal(parseNetwork(text), null, text);
      assert.throws(() => createAddressGuard([text]), RangeError);
    }
    assert.deepEqual(parseNetwork('fd00::/8'), { address: 'fd00::', prefixLength: 8, family: 'ipv6' });
    assert.deepEqual(parseNetwork('10.0.0.1'), { address: '10.0.0.1', prefixLength: 32, family: 'ipv4' });
  });
});

test('only 127.0.0.0/8 and ::1 are loopback', () => {
  for (const address of ['127.0.0.1', '127.255.255.255', '::1']) assert.equal(isLoopback(address), true, address);
  for (const address of [
    '0.0.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '::',
    '::2',
    '::ffff:127.0.0.1',
    '::1%lo',
    'localhost',
  ]) {
    assert.equal(isLoopback(address), false, address);
  }
});
