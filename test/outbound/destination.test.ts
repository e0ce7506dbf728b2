import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  type DestinationResult,
  resolveDestination,
  validateDestination,
} from '../../apps/server/src/outbound/destination.ts';
import type { ResolveName } from '../../apps/server/src/outbound/name-resolution.ts';
import type { OutboundPolicy } from '../../apps/server/src/outbound/policy.ts';
import { PUBLIC_ONLY, SANDBOX } from './policies.ts';
import { MORE_SPELLINGS, USUAL_SPELLINGS } from './spellings.ts';

const INTERNAL: OutboundPolicy = { ...PUBLIC_ONLY, allowed: ['10.0.0.0/8', '::1'] };
const PUBLIC_ADDRESS = { address: '93.184.215.14', family: 4 };

const validate = (text: string, policy = PUBLIC_ONLY): DestinationResult => validateDestination(text, policy);
const accepted = (text: string, policy?: OutboundPolicy): void => assert.ok('url' in validate(text, policy), text);
function faulty(text: string, fault: RegExp, policy?: OutboundPolicy): void {
  const result = validate(text, policy);
  assert.ok('fault' in result, `${text} was accepted`);
  assert.match(result.fault.en, fault, text);
}

/** Resolves every name to these addresses, and records the queries. */
function nameServer(...addresses: readonly string[]): ResolveName & { queried: string[] } {
  const queried: string[] = [];
  const resolveName = (hostname: string) => {
    queried.push(hostname);
    return Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
  };
  return Object.assign(resolveName, { queried });
}

suite('a URL is accepted', () => {
  test('when it is https to a public host, at a port of the policy', () => {
    accepted('https://callbacks.example.com/tiba');
    accepted('HTTPS://Callbacks.Example.com:443/tiba?for=a%20b&to=@home');
    accepted('https://callbacks.example.com:8443');
    accepted('https://bücher.example/tiba');
    accepted('https://8.8.8.8/tiba');
    accepted('https://[2606:4700::1111]/tiba');
    accepted('https://my_host.example.com/tiba');
    accepted('https://localhost.example.com/');
    accepted('https://notlocalhost.com/');
  });

  test('and comes back in its canonical spelling', () => {
    const result = validate('https://BÜCHER.example:443/a b'.replace(' ', '%20'));
    assert.equal('url' in result && result.url.href, 'https://xn--bcher-kva.example/a%20b');
  });
});

suite('a URL is rejected with a message that says what to do', () => {
  for (const spelling of [...USUAL_SPELLINGS, ...MORE_SPELLINGS]) {
    test(`with the host ${JSON.stringify(spelling)}`, () => {
      faulty(
        `https://${spelling}/tiba`,
        /^Use a host with a public address|^Use an absolute|^Leave out the dot|^Percent/,
      );
      faulty(
        `https://${spelling}:8443`,
        /^Use a host with a public address|^Use an absolute|^Leave out the dot|^Percent/,
      );
    });
  }

  test('without https', () => {
    faulty('http://callbacks.example.com/', /^Use https: callbacks are only sent over TLS$/);
    for (const text of [
      '',
      'callbacks.example.com',
      '//callbacks.example.com/',
      '/tiba',
      'https:/example.com',
      'https:',
    ]) {
      faulty(text, /^Use an absolute https URL/);
    }
    for (const scheme of ['ftp', 'file', 'gopher', 'javascript', 'data', 'ws', 'unix', 'httpss']) {
      faulty(`${scheme}://callbacks.example.com/`, /^Use an absolute https URL/);
    }
  });

  test('with user information, empty or not', () => {
    for (const user of ['user@', 'user:secret@', ':secret@', '@', 'callbacks.example.com@', 'a:b@c@', '%40@']) {
      faulty(`https://${user}callbacks.example.com/`, /^Leave user name and password out/);
    }
    faulty('https://callbacks.example.com:443@127.0.0.1/', /^Leave user name/);
  });

  test('with a fragment, empty or not', () => {
    for (const end of ['#', '#section', '?a=b#c'])
      faulty(`https://callbacks.example.com/${end}`, /^Leave the fragment/);
    faulty('https://callbacks.example.com#@127.0.0.1/', /^Leave the fragment/);
  });

  test('with a port that the policy does not name', () => {
    for (const port of [80, 22, 25, 5432, 6379, 8080, 0, 65_535]) {
      faulty(`https://callbacks.example.com:${port}/`, /^Use one of the ports 443, 8443, not \d+$/);
    }
    faulty('https://callbacks.example.com:65536/', /^Use an absolute https URL/);
    faulty('https://callbacks.example.com/', /^Use one of the ports 9443, not 443$/, { ...PUBLIC_ONLY, ports: [9443] });
  });

  test('when it is longer than 2048 characters, as written or percent-encoded', () => {
    const start = 'https://callbacks.example.com/';
    accepted(start + 'a'.repeat(2048 - start.length));
    faulty(start + 'a'.repeat(2049 - start.length), /^Use a URL of at most 2048 characters$/);
    faulty(start + 'é'.repeat(400), /^Use a URL of at most 2048 characters once/);
  });

  test('with characters that a parser would silently drop or change', () => {
    for (const text of [
      ' https://example.com/',
      'https://example.com/ ',
      'https://exa\tmple.com/',
      'https://example.com/\n',
      'https://example.com/\u0000',
      'https://example.com/a b',
      'https:\\\\example.com/',
      'https://example.com\\@127.0.0.1/',
      'https://example.com/\u2028',
    ]) {
      faulty(text, /^Percent-encode/);
    }
  });
});

suite('in the sandbox', () => {
  test('this machine is permitted over http, at any port', () => {
    for (const host of ['localhost', 'receiver.localhost', '127.0.0.1', '127.9.9.9', '2130706433', '[::1]']) {
      accepted(`http://${host}:4000/tiba`, SANDBOX);
      accepted(`http://${host}/tiba`, SANDBOX);
      accepted(`https://${host}:4000/tiba`, SANDBOX);
    }
  });

  test('no other host is permitted over http', () => {
    faulty('http://callbacks.example.com/', /^Use https: plain http is only for receivers on this machine/, SANDBOX);
    faulty('http://8.8.8.8/', /^Use https/, SANDBOX);
    faulty('http://localhost.example.com/', /^Use https/, SANDBOX);
    for (const host of ['0.0.0.0', '[::]', '10.0.0.1', '[::ffff:127.0.0.1]', '169.254.169.254', '[fd00:ec2::254]']) {
      faulty(`http://${host}:4000/`, /^Use https/, SANDBOX);
      faulty(`https://${host}/`, /^Use a host with a public address/, SANDBOX);
    }
  });

  test('localhost must also resolve to this machine', async () => {
    for (const address of ['10.0.0.1', '93.184.215.14', '::ffff:127.0.0.1']) {
      const resolveName = nameServer('127.0.0.1', address);
      assert.ok(
        'fault' in (await resolveDestination('http://localhost:4000/', SANDBOX, { resolveName, timeoutMs: 20 })),
        address,
      );
    }
    const resolveName = nameServer('127.0.0.1', '::1');
    assert.ok('url' in (await resolveDestination('http://localhost:4000/', SANDBOX, { resolveName })));
  });

  test('another name that resolves to this machine is rejected', async () => {
    const result = await resolveDestination('https://callbacks.example.com/', SANDBOX, {
      resolveName: nameServer('127.0.0.1'),
      timeoutMs: 20,
    });
    assert.ok('fault' in result);
  });
});

suite('with networks allowed', () => {
  test('their addresses and the names of a network are accepted, over https at the ports of the policy', () => {
    for (const host of ['10.1.2.3', '0x0a010203', '[::1]', 'receiver.internal', 'receiver', 'localhost']) {
      accepted(`https://${host}/tiba`, INTERNAL);
      faulty(`http://${host}/tiba`, /^Use https/, INTERNAL);
      faulty(`https://${host}:9000/tiba`, /^Use one of the ports/, INTERNAL);
    }
    faulty('https://192.168.0.1/', /^Use a host with a public address/, INTERNAL);
    faulty('https://[::ffff:10.1.2.3]/', /^Use a host with a public address/, INTERNAL);
  });

  test('a name is permitted only if its addresses are', async () => {
    const at = (...addresses: string[]): Promise<DestinationResult> =>
      resolveDestination('https://receiver.internal/', INTERNAL, {
        resolveName: nameServer(...addresses),
        timeoutMs: 20,
      });
    assert.ok('url' in (await at('10.1.2.3')));
    assert.ok('url' in (await at('10.1.2.3', '93.184.215.14')));
    assert.ok('fault' in (await at('10.1.2.3', '192.168.0.1')));
  });
});

suite('at registration the name is resolved', () => {
  const url = 'https://callbacks.example.com/tiba';
  const NOT_PUBLIC_NAME = {
    en: 'Check the host name: callbacks.example.com must resolve to public addresses only',
    id: 'Periksa nama host: callbacks.example.com hanya boleh mengarah ke alamat publik',
  };

  test('and accepted when all its addresses are public', async () => {
    const resolveName = nameServer('93.184.215.14', '2606:4700::1111');
    const result = await resolveDestination(url, PUBLIC_ONLY, { resolveName });
    assert.ok('url' in result && result.url.href === url);
    assert.deepEqual(resolveName.queried, ['callbacks.example.com']);
  });

  test('and rejected when one address among many is not', async () => {
    const others = [
      '127.0.0.1',
      '::1',
      '10.0.0.1',
      '169.254.169.254',
      '::ffff:127.0.0.1',
      'fe80::1%eth0',
      '64:ff9b::7f00:1',
    ];
    for (const address of [...others, '0177.0.0.1', '127.1', '2130706433', '', 'localhost']) {
      const resolveName = nameServer('93.184.215.14', address, '2606:4700::1111');
      const result = await resolveDestination(url, PUBLIC_ONLY, { resolveName, timeoutMs: 20 });
      assert.deepEqual(result, { fault: NOT_PUBLIC_NAME, resolution: 'blocked' }, address);
    }
  });

  test('and an unresolved name gets the same message', async () => {
    const unresolved: Record<string, ResolveName> = {
      failing: () => Promise.reject(new Error('ENOTFOUND')),
      throwing: () => {
        throw new Error('SERVFAIL');
      },
      empty: nameServer(),
      silent: () => new Promise(() => undefined),
    };
    for (const [kind, resolveName] of Object.entries(unresolved)) {
      assert.deepEqual(
        await resolveDestination(url, PUBLIC_ONLY, { resolveName, timeoutMs: 50 }),
        { fault: NOT_PUBLIC_NAME, resolution: 'unresolved' },
        kind,
      );
    }
  });

  test('by the operating system by default', async () => {
    assert.ok('url' in (await resolveDestination('http://localhost:4000/', SANDBOX)));
  });

  test('but not when the URL is invalid already or has a literal address', async () => {
    const resolveName = nameServer(PUBLIC_ADDRESS.address);
    assert.ok('fault' in (await resolveDestination('http://callbacks.example.com/', PUBLIC_ONLY, { resolveName })));
    assert.ok('fault' in (await resolveDestination('https://127.1/', PUBLIC_ONLY, { resolveName })));
    assert.ok('url' in (await resolveDestination('https://8.8.8.8/', PUBLIC_ONLY, { resolveName })));
    assert.deepEqual(resolveName.queried, []);
  });
});
