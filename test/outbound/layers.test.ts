import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { createAddressGuard } from '../../apps/server/src/outbound/address-guard.ts';
import { createGuardedConnect } from '../../apps/server/src/outbound/guarded-connect.ts';
import { type ResolveName, resolveHost, shareResolutions } from '../../apps/server/src/outbound/name-resolution.ts';
import { createOriginPools } from '../../apps/server/src/outbound/origin-pools.ts';
import { OutboundFailure } from '../../apps/server/src/outbound/outbound-failure.ts';
import { startForbiddenReceiver } from './tcp-receiver.ts';

// Several layers block the same addresses, so that one broken layer does not open the network. Each is tested alone
// here.

const publicOnly = createAddressGuard();
const never: ResolveName = () => assert.fail('no name resolution expected');

/** Connects as undici would, without the validation of the URL. */
function connectTo(hostname: string, port: number, resolveName: ResolveName): Promise<unknown> {
  const connector = createGuardedConnect({
    guardOf: () => publicOnly,
    resolveName,
    certificateAuthorities: [],
    connectTimeoutMs: 10_000,
    exchangeBytesMax: 256 * 1024,
  });
  return new Promise((resolve) => {
    connector.connect({ hostname, protocol: 'https:', port: `${port}` }, (...[error]) => resolve(error));
  });
}

suite('the connector', () => {
  const isBlocked = (error: unknown): boolean => error instanceof OutboundFailure && error.reason === 'blocked_address';

  test('blocks literal addresses, for which no name resolution happens', async (context) => {
    const forbidden = await startForbiddenReceiver(context);
    for (const literal of ['127.0.0.1', '::1', '0.0.0.0', '::', '::ffff:127.0.0.1', '::ffff:7f00:1', '10.0.0.1']) {
      assert.ok(isBlocked(await connectTo(literal, forbidden.port, never)), literal);
    }
    assert.equal(await forbidden.countConnections(), 0);
  });

  test('resolves every other host, even those that the operating system would parse as an address', async (context) => {
    const forbidden = await startForbiddenReceiver(context);
    for (const host of ['127.1', '2130706433', '0x7f.1', '017700000001', '0', 'localhost']) {
      const queried: string[] = [];
      const resolveName: ResolveName = (hostname) => {
        queried.push(hostname);
        return Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
      };
      assert.ok(isBlocked(await connectTo(host, forbidden.port, resolveName)), host);
      assert.deepEqual(queried, [host]);
    }
    assert.equal(await forbidden.countConnections(), 0);
  });

  test('connects to the addresses that it checked, even if the list changes afterwards', async () => {
    const addresses = ['93.184.215.14', '127.0.0.1'];
    const changing = {
      family: 4,
      get address() {
        return addresses.shift() ?? '127.0.0.1';
      },
    };
    const resolution = await resolveHost('callbacks.example.com', publicOnly, async () => [changing]);
    assert.deepEqual(resolution, { kind: 'permitted', addresses: [{ address: '93.184.215.14', family: 4 }] });
  });
});

suite('shared name resolutions', () => {
  test('send one query for concurrent callers, and a new one for later callers', async () => {
    const queried: string[] = [];
    const shared = shareResolutions(async (hostname) => {
      queried.push(hostname);
      return [{ address: '93.184.215.14', family: 4 }];
    }, 10_000);
    await Promise.all([shared('a.example.com'), shared('a.example.com'), shared('b.example.com')]);
    await shared('a.example.com');
    assert.deepEqual(queried, ['a.example.com', 'b.example.com', 'a.example.com']);
  });

  test('do not cache a failure', async () => {
    const outcomes = [new Error('SERVFAIL'), null];
    const shared = shareResolutions(async () => {
      const outcome = outcomes.shift();
      if (outcome instanceof Error) throw outcome;
      return [];
    }, 10_000);
    await assert.rejects(shared('a.example.com'), /SERVFAIL/);
    assert.deepEqual(await shared('a.example.com'), []);
  });
});

suite('the queue for a connection', () => {
  function openPools(context: TestContext, connectionsPerOriginMax: number) {
    const limits = { originsMax: 2, connectionsPerOriginMax, idleTimeoutMs: 4_000, replyHeaderBytesMax: 16_384 };
    const pools = createOriginPools(() => assert.fail('nothing is sent here'), limits);
    context.after(() => pools.close());
    return pools;
  }

  test('serves clients in order, as many at once as there are connections', (context) => {
    const pools = openPools(context, 2);
    const called: number[] = [];
    const slots = [1, 2, 3, 4].map((number) => {
      const slot = pools.slotFor('http://127.0.0.1:4000', { clientId: `client-${number}`, endpointId: 'ep_1' });
      slot.acquire(() => called.push(number));
      return slot;
    });
    assert.deepEqual(called, [1, 2]);
    slots[1]?.release(false);
    assert.deepEqual(called, [1, 2, 3]);
    slots[0]?.release(false);
    assert.deepEqual(called, [1, 2, 3, 4]);
  });

  test('removes cancelled posts, and is separate for each origin', (context) => {
    const pools = openPools(context, 1);
    const called: string[] = [];
    const queue = (origin: string, name: string) => {
      const slot = pools.slotFor(origin, { clientId: 'alpha', endpointId: 'ep_1' });
      slot.acquire(() => called.push(name));
      return slot;
    };
    const first = queue('http://127.0.0.1:4000', 'first');
    const second = queue('http://127.0.0.1:4000', 'second');
    queue('http://127.0.0.1:4000', 'third');
    queue('http://127.0.0.1:4001', 'elsewhere');
    second.cancel();
    first.cancel();
    first.release(false);
    assert.deepEqual(called, ['first', 'elsewhere', 'third']);
  });
});
