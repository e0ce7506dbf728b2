import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createAddressGuard } from '../../apps/server/src/outbound/address-guard.ts';
import { resolveDestination } from '../../apps/server/src/outbound/destination.ts';
import { openSocket } from '../../apps/server/src/outbound/guarded-connect.ts';
import type { ResolveName } from '../../apps/server/src/outbound/name-resolution.ts';
import type { OutboundPolicy } from '../../apps/server/src/outbound/policy.ts';
import { startHttpReceiver } from '../support/http-receiver.ts';
import { fails, OWNER, open } from './guarded-posts.ts';
import { PUBLIC_ONLY, SANDBOX } from './policies.ts';
import { MORE_SPELLINGS, USUAL_SPELLINGS } from './spellings.ts';
import { startForbiddenReceiver, startTcpReceiver } from './tcp-receiver.ts';

const PUBLIC_ADDRESS = '93.184.215.14';
/** Long enough for every post that is not blocked at once. */
const LIMIT = { timeoutMs: 10_000, owner: OWNER };

const strict = (port: number): OutboundPolicy => ({ ...PUBLIC_ONLY, ports: [port] });
const resolvingTo =
  (...addresses: string[]): ResolveName =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

suite('a post never reaches this machine or its network', () => {
  for (const [kind, spellings] of Object.entries({ usual: USUAL_SPELLINGS, more: MORE_SPELLINGS })) {
    test(`in any spelling of its address (${kind})`, async (context) => {
      const forbidden = await startForbiddenReceiver(context);
      const http = open(context, { policy: strict(forbidden.port) });
      for (const spelling of spellings) {
        for (const scheme of ['https', 'http']) {
          await fails(http.post(`${scheme}://${spelling}:${forbidden.port}/`, {}, '{}', LIMIT), 'blocked_address');
        }
      }
      assert.equal(await forbidden.countConnections(), 0);
    });
  }

  test('the forbidden receiver counts the same posts where the policy allows its address', async (context) => {
    const forbidden = await startForbiddenReceiver(context);
    const policy = { ...strict(forbidden.port), allowed: ['127.0.0.0/8'] };
    const http = open(context, { policy });
    for (const spelling of ['127.0.0.1', '2130706433', '0177.0.0.01']) {
      // The receiver does not use TLS.
      await fails(
        http.post(`https://${spelling}:${forbidden.port}/`, {}, '{}', { ...LIMIT, timeoutMs: 200 }),
        'timeout',
      );
    }
    assert.ok((await forbidden.countConnections()) > 0);
  });

  test('by a name that resolves to it', async (context) => {
    const forbidden = await startForbiddenReceiver(context);
    const machine = ['127.0.0.1', '::1', '::', '0.0.0.0', '127.1', '0x7f.1', '2130706433', '127.0.0.1.', '[::1]', ''];
    const disguised = ['::ffff:127.0.0.1', '::ffff:7f00:1', '::127.0.0.1', '64:ff9b::7f00:1', '::1%lo', 'localhost'];
    for (const address of [...machine, ...disguised]) {
      const http = open(context, { policy: strict(forbidden.port), resolveName: resolvingTo(address) });
      const post = http.post(`https://callbacks.example.com:${forbidden.port}/`, {}, '{}', LIMIT);
      await fails(
        post,
        'blocked_address',
        /^The name callbacks\.example\.com does not resolve to public addresses only$/,
      );
    }
    assert.equal(await forbidden.countConnections(), 0);
  });

  test('by a name with one such address among several, in any order', async (context) => {
    const forbidden = await startForbiddenReceiver(context);
    for (const addresses of [
      [PUBLIC_ADDRESS, '127.0.0.1'],
      ['127.0.0.1', PUBLIC_ADDRESS],
      [PUBLIC_ADDRESS, '2606:4700::1111', '::1'],
      ['::ffff:127.0.0.1', PUBLIC_ADDRESS],
    ]) {
      const http = open(context, { policy: strict(forbidden.port), resolveName: resolvingTo(...addresses) });
      await fails(http.post(`https://callbacks.example.com:${forbidden.port}/`, {}, '{}', LIMIT), 'blocked_address');
    }
    assert.equal(await forbidden.countConnections(), 0);
  });

  test('by a name that was public at registration and resolves differently now', async (context) => {
    const forbidden = await startForbiddenReceiver(context);
    const answers = [PUBLIC_ADDRESS, '127.0.0.1'];
    const resolveName: ResolveName = async () => [{ address: answers.shift() ?? '127.0.0.1', family: 4 }];
    const url = `https://callbacks.example.com:${forbidden.port}/`;
    assert.ok('url' in (await resolveDestination(url, strict(forbidden.port), { resolveName })));
    const http = open(context, { policy: strict(forbidden.port), resolveName });
    await fails(http.post(url, {}, '{}', LIMIT), 'blocked_address');
    await fails(http.post(url, {}, '{}', LIMIT), 'blocked_address');
    assert.equal(await forbidden.countConnections(), 0);
  });

  test('when name resolution returns its result synchronously', async (context) => {
    const forbidden = await startForbiddenReceiver(context);
    // Contrary to the type, as a cache in front of a resolver might do.
    const resolveName = (() => [{ address: '127.0.0.1', family: 4 }]) as unknown as ResolveName;
    const http = open(context, { policy: strict(forbidden.port), resolveName });
    await fails(http.post(`https://callbacks.example.com:${forbidden.port}/`, {}, '{}', LIMIT), 'blocked_address');
    assert.equal(await forbidden.countConnections(), 0);
  });

  test('by the name localhost in the sandbox, when it resolves to another address', async (context) => {
    const forbidden = await startForbiddenReceiver(context);
    for (const address of ['10.0.0.1', '169.254.169.254', '::ffff:127.0.0.1', PUBLIC_ADDRESS]) {
      const http = open(context, { policy: SANDBOX, resolveName: resolvingTo(address) });
      await fails(http.post(`http://localhost:${forbidden.port}/`, {}, '{}', LIMIT), 'blocked_address');
    }
    const http = open(context, { policy: SANDBOX, resolveName: resolvingTo('127.0.0.1') });
    await fails(http.post('http://callbacks.example.com/', {}, '{}', LIMIT), 'blocked_address', /^Use https/);
    await fails(http.post('https://callbacks.example.com/', {}, '{}', LIMIT), 'blocked_address');
    assert.equal(await forbidden.countConnections(), 0);
  });
});

test('every new connection resolves the name and checks its addresses again', async (context) => {
  const receiver = await startHttpReceiver({
    context,
    respond: (response) => {
      response.setHeader('connection', 'close');
      response.end();
    },
  });
  const answers = ['127.0.0.1', '127.0.0.1', '10.0.0.1'];
  const queried: string[] = [];
  const http = open(context, {
    policy: SANDBOX,
    resolveName: async (hostname) => {
      queried.push(hostname);
      return [{ address: answers.shift() ?? '10.0.0.1', family: 4 }];
    },
  });
  const post = () => http.post(`http://localhost:${receiver.port}/`, {}, '{}', LIMIT);
  assert.equal((await post()).status, 200);
  assert.equal((await post()).status, 200);
  await fails(post(), 'blocked_address');
  assert.equal(queried.length, 3);
  assert.equal(receiver.requests.length, 2);
});

test('a redirect is a reply, and is not followed', async (context) => {
  const forbidden = await startForbiddenReceiver(context);
  const http = open(context, { policy: SANDBOX });
  for (const status of [301, 302, 303, 307, 308]) {
    const receiver = await startHttpReceiver({
      context,
      respond: (response) => {
        response.writeHead(status, { location: `http://127.0.0.1:${forbidden.port}/` });
        response.end('elsewhere');
      },
    });
    const reply = await http.post(`http://127.0.0.1:${receiver.port}/`, {}, '{}', LIMIT);
    assert.deepEqual([reply.status, reply.answer], [status, 'elsewhere']);
  }
  assert.equal(await forbidden.countConnections(), 0);
});

test('an address that was reached without permission is sent no bytes', async (context) => {
  let received = 0;
  const closed = Promise.withResolvers<void>();
  const receiver = await startTcpReceiver(context, (socket) => {
    socket.on('data', (chunk) => (received += chunk.length));
    socket.on('close', () => closed.resolve());
  });
  const reached = openSocket({
    hostname: 'callbacks.example.com',
    port: receiver.port,
    // As if the resolver, or the socket layer, had ignored the guard.
    addresses: [{ address: '127.0.0.1', family: 4 }],
    permits: createAddressGuard(),
    signal: new AbortController().signal,
  });
  await fails(reached, 'blocked_address');
  await closed.promise;
  assert.equal(receiver.connections.length, 1);
  assert.equal(received, 0);
});

test('no failure message reveals an address of a name', async (context) => {
  const secrets = ['10.11.12.13', 'fd00::abcd'];
  const http = open(context, { policy: PUBLIC_ONLY, resolveName: resolvingTo(...secrets) });
  await assert.rejects(http.post('https://callbacks.example.com/', {}, '{}', LIMIT), (error) => {
    for (const secret of secrets) assert.ok(!String(error).includes(secret));
    return true;
  });
});
