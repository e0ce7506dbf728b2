import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { createAddressGuard } from '../../apps/server/src/outbound/address-guard.ts';
import { createGuardedConnect } from '../../apps/server/src/outbound/guarded-connect.ts';
import { type ResolveName, resolveHost, shareResolutions } from '../../apps/server/src/outbound/name-resolution.ts';
import { createOriginPools } from '../../apps/server/src/outbound/origin-pools.ts';
import { OutboundFailure } from '../../apps/server/src/outbound/outbound-failure.ts';
import { startForbiddenReceiver } from './tcp-receiver.ts';

// Several layers refuse the same thing, so that the whole would go on refusing if one of them broke: here each is alone.

const publicOnly = createAddressGuard();
const never: ResolveName = () => assert.fail('nobody should have asked');

/** A connection as undici would ask for it, past the judgement of the URL. */
function connectTo(hostname: string, port: number, resolveName: ResolveName): Promise<unknown> {
  const connecting = createGuardedConnect({
    guardOf: () => publicOnly,
    resolveName,
    certificateAuthorities: [],
    connectTimeoutMs: 10_000,
  });
  return new Promise((resolve) => {
    connecting.connect({ hostname, protocol: 'https:', port: `${port}` }, (...[error]) => resolve(error));
  });
}

suite('the connector alone', () => {
  const isRefused = (error: unknown): boolean => error instanceof OutboundFailure && error.reason === 'blocked_address';

  test('refuses literal addresses, of which no look-up ever hears', async (context) => {
    const forbidden = await startForbiddenReceiver(context);
    for (const literal of ['127.0.0.1', '::1', '0.0.0.0', '::', '::ffff:127.0.0.1', '::ffff:7f00:1', '10.0.0.1']) {
      assert.ok(isRefused(await connectTo(literal, forbidden.port, never)), literal);
    }
    assert.equal(await forbidden.countConnections(), 0);
  });

  test('asks its look-up about every other host, also those that the system would read as an address', async (context) => {
    const forbidden = await startForbiddenReceiver(context);
    for (const host of ['127.1', '2130706433', '0x7f.1', '017700000001', '0', 'localhost']) {
      const asked: string[] = [];
      const resolveName: ResolveName = (hostname) => {
        asked.push(hostname);
        return Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
      };
      assert.ok(isRefused(await connectTo(host, forbidden.port, resolveName)), host);
      assert.deepEqual(asked, [host]);
    }
    assert.equal(await forbidden.countConnections(), 0);
  });

  test('connects to the addresses that it judged, though the list should change afterwards', async () => {
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

suite('look-ups that are shared', () => {
  test('are one question for those who ask at once, and a new one for those who ask later', async () => {
    const asked: string[] = [];
    const shared = shareResolutions(async (hostname) => {
      asked.push(hostname);
      return [{ address: '93.184.215.14', family: 4 }];
    }, 10_000);
    await Promise.all([shared('a.example.com'), shared('a.example.com'), shared('b.example.com')]);
    await shared('a.example.com');
    assert.deepEqual(asked, ['a.example.com', 'b.example.com', 'a.example.com']);
  });

  test('do not remember a failure', async () => {
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

  test('is served in order, as many at once as there are connections', (context) => {
    const pools = openPools(context, 2);
    const called: number[] = [];
    const turns = [1, 2, 3, 4].map((number) => {
      const turn = pools.slotFor('http://127.0.0.1:4000');
      turn.acquire(() => called.push(number));
      return turn;
    });
    assert.deepEqual(called, [1, 2]);
    turns[1]?.release();
    assert.deepEqual(called, [1, 2, 3]);
    turns[0]?.release();
    assert.deepEqual(called, [1, 2, 3, 4]);
  });

  test('forgets who gave up, and is another for another origin', (context) => {
    const pools = openPools(context, 1);
    const called: string[] = [];
    const queue = (origin: string, name: string) => {
      const turn = pools.slotFor(origin);
      turn.acquire(() => called.push(name));
      return turn;
    };
    const first = queue('http://127.0.0.1:4000', 'first');
    const second = queue('http://127.0.0.1:4000', 'second');
    queue('http://127.0.0.1:4000', 'third');
    queue('http://127.0.0.1:4001', 'elsewhere');
    second.cancel();
    first.cancel();
    first.release();
    assert.deepEqual(called, ['first', 'elsewhere', 'third']);
  });
});
