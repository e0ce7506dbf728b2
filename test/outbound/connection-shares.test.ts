import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { suite, test } from 'node:test';
import { createConnectionShares, type Turn } from '../../apps/server/src/outbound/connection-shares.ts';

const CONNECTIONS = 64;

/** Posts to one origin. Each holds its connection until the test ends it. */
function createPosts(connectionsMax = CONNECTIONS) {
  const shares = createConnectionShares(connectionsMax);
  /** The posts that hold a connection, by endpoint, such as `alpha/1`, in the order in which they started. */
  const started = new Map<string, Turn[]>();
  const startedOf = (endpoint: string): Turn[] => started.get(endpoint) ?? [];
  return {
    shares,
    /** Queues posts. Returns their turns. */
    queue(endpoint: string, count = 1): Turn[] {
      const [clientId = '', endpointId = ''] = endpoint.split('/');
      return Array.from({ length: count }, () => {
        const turn = shares.turnFor({ clientId, endpointId });
        turn.acquire(() => started.set(endpoint, [...startedOf(endpoint), turn]));
        return turn;
      });
    },
    /** Ends the post that started first. */
    end(endpoint: string, timedOut = false): void {
      const [first, ...rest] = startedOf(endpoint);
      assert.ok(first !== undefined, `${endpoint} has no post to end`);
      started.set(endpoint, rest);
      first.release(timedOut);
    },
    holders: (): string[] => [...started.keys()].filter((endpoint) => startedOf(endpoint).length > 0),
    /** The number of connections of an endpoint, or of all endpoints of a client. */
    held: (prefix: string): number =>
      [...started].reduce(
        (sum, [endpoint, turns]) => sum + (`${endpoint}/`.startsWith(`${prefix}/`) ? turns.length : 0),
        0,
      ),
  };
}

suite('the connections of an origin', () => {
  test('are left to the others by half when one client has more posts than connections', () => {
    const posts = createPosts();
    for (let endpoint = 1; endpoint <= 10; endpoint += 1) posts.queue(`alpha/${endpoint}`, 32);
    assert.equal(posts.held('alpha'), 32);
    posts.queue('beta/1', 32);
    assert.equal(posts.held('beta'), 16);
    posts.queue('gamma/1', 32);
    assert.equal(posts.held('gamma'), 8);
  });

  test('become equal shares as posts of those with more end', () => {
    const posts = createPosts();
    for (const client of ['alpha', 'beta', 'gamma']) posts.queue(`${client}/1`, 1_000);
    for (let turn = 0; turn < 300; turn += 1) posts.end(['alpha/1', 'beta/1', 'gamma/1'][turn % 3] ?? '');
    // Each end starts one post, of the client whose turn it is.
    for (const client of ['alpha', 'beta', 'gamma']) assert.ok(Math.abs(posts.held(client) - 16) <= 1, client);
  });

  test('go round among the clients that wait, however many endpoints of one client wait', () => {
    const posts = createPosts(1);
    for (let endpoint = 1; endpoint <= 10; endpoint += 1) posts.queue(`alpha/${endpoint}`);
    for (const client of ['beta', 'gamma']) posts.queue(`${client}/1`, 10);
    const turns = Array.from({ length: 9 }, () => {
      const endpoint = posts.holders()[0] ?? '';
      posts.end(endpoint);
      return endpoint;
    });
    const expected = ['alpha/1', 'alpha/2', 'beta/1', 'gamma/1', 'alpha/3', 'beta/1', 'gamma/1', 'alpha/4', 'beta/1'];
    assert.deepEqual(turns, expected);
  });

  test('are kept for endpoints that answer, also of a client whose other endpoints time out', () => {
    const posts = createPosts();
    for (let endpoint = 1; endpoint <= 9; endpoint += 1) posts.queue(`alpha/${endpoint}`, 32);
    while (posts.held('alpha') > 0) {
      for (let endpoint = 1; endpoint <= 9; endpoint += 1) {
        while (posts.held(`alpha/${endpoint}`) > 0) posts.end(`alpha/${endpoint}`, true);
      }
    }
    for (let endpoint = 1; endpoint <= 9; endpoint += 1) posts.queue(`alpha/${endpoint}`, 32);
    assert.equal(posts.held('alpha'), 16, 'half of the half for silent endpoints');
    posts.queue('alpha/10', 32);
    assert.equal(posts.held('alpha/10'), 16);
  });

  test('are kept for endpoints that answer when more clients hang than there are connections', () => {
    const posts = createPosts();
    const hanging = Array.from({ length: 100 }, (_, index) => `hanging-${index}/1`);
    const held = (): number => hanging.reduce((sum, endpoint) => sum + posts.held(endpoint), 0);
    for (const endpoint of hanging) posts.queue(endpoint);
    for (const endpoint of hanging) posts.end(endpoint, true);
    for (const endpoint of hanging) posts.queue(endpoint, 32);
    assert.equal(held(), 32);
    posts.queue('beta/1');
    assert.equal(posts.held('beta'), 1);
  });

  test('are all open again to an endpoint after one reply', () => {
    const posts = createPosts();
    posts.queue('alpha/1');
    posts.end('alpha/1', true);
    posts.queue('alpha/1', 32);
    assert.equal(posts.held('alpha'), 16);
    posts.end('alpha/1');
    assert.equal(posts.held('alpha'), 31, 'all the posts that are left');
  });

  test('are never lost or exceeded, whatever happens in whatever order', () => {
    const posts = createPosts(5);
    const endpoints = ['alpha/1', 'alpha/2', 'beta/1', 'gamma/1', 'gamma/2'];
    const pick = <T>(from: readonly T[]): T => from[randomInt(from.length)] as T;
    const queued: Turn[] = [];
    for (let step = 0; step < 20_000; step += 1) {
      const endpoint = pick(endpoints);
      const action = randomInt(4);
      if (action === 0) queued.push(...posts.queue(endpoint, 1 + randomInt(3)));
      else if (action === 1 && queued.length > 0) pick(queued).cancel();
      else if (posts.held(endpoint) > 0) posts.end(endpoint, randomInt(3) === 0);
      const all = endpoints.reduce((sum, each) => sum + posts.held(each), 0);
      assert.ok(all <= 5);
      assert.equal(posts.shares.inUse(), all);
    }
    while (posts.shares.inUse() > 0) for (const each of endpoints) if (posts.held(each) > 0) posts.end(each);
    posts.queue('delta/1');
    assert.equal(posts.held('delta'), 1, 'nothing is left behind');
  });
});
