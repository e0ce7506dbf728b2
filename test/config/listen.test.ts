import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { it } from 'node:test';
import Fastify from 'fastify';
import { type ListenAddress, listenAt, requireFree } from '../../apps/server/src/http/listen.ts';
import { StartError } from '../../apps/server/src/lib/start-error.ts';

const ADDRESS = { host: '127.0.0.1', port: 0, hostSetting: 'TIBA_HOST', portSetting: 'TIBA_PORT' };

async function assertCannotListen(change: Partial<ListenAddress>, reason: RegExp): Promise<void> {
  const listener = Fastify();
  try {
    await assert.rejects(listenAt(listener, { ...ADDRESS, ...change }), (error) => {
      assert.ok(error instanceof StartError);
      assert.match(error.message, reason);
      return true;
    });
  } finally {
    await listener.close();
  }
}

it('a listener on port 0 returns the port that it was given', async () => {
  const listener = Fastify();
  assert.match(await listenAt(listener, ADDRESS), /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
  await listener.close();
});

it('the error for a port in use names the port and the setting to change', async () => {
  const occupant = createServer().listen(0, '127.0.0.1');
  await once(occupant, 'listening');
  const address = occupant.address();
  assert.ok(address !== null && typeof address === 'object');
  try {
    await assertCannotListen({ port: address.port }, new RegExp(`^port ${address.port} .* is taken .* set TIBA_PORT `));
  } finally {
    occupant.close();
  }
});

it('all addresses that are taken are named at once, and none is held', async () => {
  const occupants = [createServer().listen(0, '127.0.0.1'), createServer().listen(0, '127.0.0.1')];
  try {
    const taken = await Promise.all(
      occupants.map(async (occupant, index) => {
        await once(occupant, 'listening');
        const address = occupant.address();
        assert.ok(address !== null && typeof address === 'object');
        return { ...ADDRESS, port: address.port, portSetting: `TIBA_PORT_${index}` };
      }),
    );
    await requireFree([ADDRESS]);
    await assert.rejects(requireFree([ADDRESS, ...taken]), (error) => {
      assert.ok(error instanceof StartError);
      assert.match(error.message, /^port \d+ .* set TIBA_PORT_0 .*\nport \d+ .* set TIBA_PORT_1 .*$/);
      return true;
    });
    for (const occupant of occupants) occupant.close();
    await requireFree(taken);
  } finally {
    for (const occupant of occupants) occupant.close();
  }
});

it('the error for an address of another machine names the address and the setting to change', async () => {
  // TEST-NET-1 of RFC 5737: no machine has this address.
  await assertCannotListen({ host: '192.0.2.1' }, /^192\.0\.2\.1 is not an address of this machine: change TIBA_HOST$/);
});
