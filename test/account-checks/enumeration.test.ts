import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createClientGuard } from '../../apps/server/src/account-checks/enumeration/client-guard.ts';
import { shortHash } from '../../apps/server/src/account-checks/enumeration/daily-accounts.ts';
import { createNotFoundRatio } from '../../apps/server/src/account-checks/enumeration/not-found-ratio.ts';
import type { Restriction } from '../../apps/server/src/account-checks/enumeration/restrictions.ts';
import { createSequentialNumbers } from '../../apps/server/src/account-checks/enumeration/sequential-numbers.ts';
import { seededRandom } from '../rails/resilience/seed.ts';

/** The signs of somebody who collects accounts, each by itself and then together, against a clock that the test pushes. */

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const PAUSE_MS = 30 * MINUTE_MS;

suite('neighbouring account numbers', () => {
  test('are as many as a slow and simple count says, whatever the order, pauses and banks', (t) => {
    const random = seededRandom(t);
    const neighbours = createSequentialNumbers();
    const model = new Map<string, { count: number; askedMs: number }>();
    let crowded = 0;
    let crowdedMs = 0;
    let nowMs = 0;
    for (let turn = 0; turn < 20_000; turn += 1) {
      nowMs += random() < 0.002 ? PAUSE_MS * random() * 2 : 1_000 * random();
      const bic = random() < 0.5 ? 'BRINIDJA' : 'BNINIDJA';
      const number = String(10 ** 14 + Math.floor(random() * 30) * 10 ** 6 + Math.floor(random() * 3_000));
      const block = `${bic} ${number.slice(0, -3)}`;
      const before = model.get(block);
      const count = 1 + (before !== undefined && nowMs - before.askedMs < PAUSE_MS ? before.count : 0);
      model.set(block, { count, askedMs: nowMs });
      if (count >= 50) {
        if (nowMs - crowdedMs >= PAUSE_MS) crowded = 0;
        crowded += count === 50 ? 50 : 1;
        crowdedMs = nowMs;
      }
      assert.equal(neighbours.recordCheck(bic, number, nowMs), count < 50 ? 0 : crowded, `turn ${turn}`);
      if (random() < 0.001) {
        neighbours.reset();
        model.clear();
        crowded = 0;
      }
    }
  });

  const most = (numbers: readonly string[]): number => {
    const neighbours = createSequentialNumbers();
    return Math.max(...numbers.map((number, index) => neighbours.recordCheck('BRINIDJA', number, index)));
  };
  const sequence = (count: number, numberAt: (index: number) => number): string[] =>
    Array.from({ length: count }, (_, index) => String(1_000_000_000 + numberAt(index)));

  test('are found upwards, downwards, with check digits, shuffled, and among other accounts', (t) => {
    const random = seededRandom(t);
    assert.equal(most(sequence(300, (index) => index)), 300);
    assert.equal(most(sequence(300, (index) => 500 - index)), 300);
    assert.equal(most(sequence(300, (index) => index * 13)), 300);
    assert.equal(most(sequence(300, (index) => index).toSorted(() => random() - 0.5)), 300);
    // Each sixth is a neighbour of the last such.
    const far = (): number => 10_000 + Math.floor(random() * 8_000_000_000);
    assert.equal(most(sequence(1_800, (index) => (index % 6 === 0 ? index / 6 : far()))), 300);
  });

  test('are found when hundreds of ranges are gone through in turn', () => {
    const inTurn = sequence(30_000, (index) => (index % 500) * 10_000 + Math.floor(index / 500));
    assert.ok(most(inTurn) > 500 * 50);
  });

  test('are of numbers of the same length and the same beginning', () => {
    const beginnings = ['12', '012', '0012', '1234567890123456789012345678901', '2234567890123456789012345678901'];
    const numbers = beginnings.flatMap((beginning) =>
      Array.from({ length: 49 }, (_, index) => `${beginning}${String(index).padStart(3, '0')}`),
    );
    assert.equal(most(numbers), 0);
    assert.equal(most([...numbers, '1234567890123456789012345678901999']), 50);
  });

  test('are not accounts as they come', (t) => {
    const random = seededRandom(t);
    assert.equal(most(sequence(100_000, () => Math.floor(random() * 8_000_000_000))), 0);
  });
});

test('the share of NOT_FOUND is that of the last 400 verdicts, once there are 200, and begins anew after a pause', (t) => {
  const random = seededRandom(t);
  const share = createNotFoundRatio();
  let model: boolean[] = [];
  let nowMs = 0;
  for (let turn = 0; turn < 10_000; turn += 1) {
    const pauses = random() < 0.001;
    nowMs += pauses ? PAUSE_MS : 1_000;
    const isNotFound = random() < Math.abs(Math.sin(turn / 1_000));
    model = [...(pauses ? [] : model), isNotFound].slice(-400);
    const expected = model.length < 200 ? 0 : model.filter(Boolean).length / model.length;
    assert.equal(share.recordVerdict(isNotFound, nowMs), expected, `turn ${turn}`);
  }
});

/** A client that asks about accounts far apart, or side by side. */
function watched(accountsPerDay = 100_000) {
  // Midnight in Jakarta.
  const clock = { nowMs: 1_000, wallMs: Date.UTC(2026, 10, 20, 17) };
  const bounds = { accountsPerDay, trusted: false };
  const tripped: Restriction[] = [];
  const freed: Restriction[] = [];
  const client = createClientGuard({
    limits: () => bounds,
    wallMs: () => clock.wallMs,
    slowedMs: 1,
    onRestricted: (trip) => void tripped.push(trip),
    onLifted: (trip) => void freed.push(trip),
  });
  return {
    client,
    bounds,
    tripped,
    freed,
    push(ms: number) {
      clock.nowMs += ms;
      clock.wallMs += ms;
    },
    ask: (account: number) =>
      client.admit(
        {
          bic: 'BRINIDJA',
          accountNumber: String(1_000_000_000 + account),
          hash: (account * 2_654_435_761).toString(16).padStart(32, '0').split('').toReversed().join(''),
        },
        clock.nowMs,
      ),
    hear: (isNotFound: boolean) => client.recordVerdict(isNotFound, clock.nowMs),
    holds: () => client.restrictions(clock.nowMs).map(({ signal, level }) => `${signal} ${level}`),
  };
}

const FAR = 1_000;

suite('a client', () => {
  test('may ask about as many accounts in a day of Jakarta as it is given, and about those again', () => {
    const { ask, push, holds, freed, bounds } = watched(100);
    for (let account = 0; account < 100; account += 1) assert.equal(ask(account * FAR).kind, 'new');
    for (let account = 0; account < 100; account += 1) assert.equal(ask(account * FAR).kind, 'known');
    push(DAY_MS - 5_000);
    assert.deepEqual(ask(100 * FAR), { kind: 'blocked', reason: 'accounts_per_day', retryAfterMs: 5_000 });
    assert.equal(ask(99 * FAR).kind, 'known');
    assert.deepEqual(holds(), ['accounts_per_day blocked']);
    bounds.accountsPerDay = 101;
    assert.equal(ask(100 * FAR).kind, 'new');
    assert.equal(ask(101 * FAR).kind, 'blocked');
    push(5_000);
    assert.deepEqual([holds().length, freed.length], [0, 2]);
    assert.equal(ask(0).kind, 'new', 'a new day has new accounts');
  });

  test('is slowed by 50 neighbours, refused by 200, and free half an hour after the last', () => {
    const { ask, push, holds, tripped, freed } = watched();
    const kinds = Array.from({ length: 1_000 }, (_, account) => ask(account).kind);
    const count = (wanted: string) => kinds.filter((kind) => kind === wanted).length;
    assert.deepEqual([count('new'), count('slowed'), count('blocked')], [50, 150, 800]);
    assert.deepEqual(holds(), ['sequential_numbers blocked']);
    assert.equal(ask(7).kind, 'known');
    assert.equal(ask(500 * FAR).kind, 'blocked', 'whatever is new');
    push(PAUSE_MS - 1);
    assert.equal(ask(500 * FAR).kind, 'blocked');
    push(1);
    assert.equal(ask(500 * FAR).kind, 'new');
    assert.deepEqual(
      tripped.map(({ level, figure }) => [level, figure]),
      [
        ['slowed', 50],
        ['blocked', 200],
      ],
    );
    assert.equal(freed.length, 1);
  });

  test('is slowed and refused by verdicts of NOT_FOUND, and free again when they are like those of others', () => {
    const { hear, push, holds } = watched();
    for (let verdict = 0; verdict < 200; verdict += 1) hear(verdict % 10 < 6);
    assert.deepEqual(holds(), ['not_found_ratio slowed']);
    for (let verdict = 0; verdict < 400; verdict += 1) hear(verdict % 10 === 0);
    push(PAUSE_MS);
    assert.deepEqual(holds(), []);
    for (let verdict = 0; verdict < 200; verdict += 1) hear(true);
    assert.deepEqual(holds(), ['not_found_ratio blocked']);
    // The last one had been on its way when the client was refused.
    push(4_000);
    hear(true);
    push(PAUSE_MS - 4_000);
    hear(true);
    assert.deepEqual(holds(), [], 'what led to a refusal is done with');
  });

  test('that is trusted is held by the bound of a day alone, from the moment that it is', () => {
    const { ask, hear, holds, bounds } = watched(400);
    for (let account = 0; account < 250; account += 1) ask(account);
    assert.deepEqual(holds(), ['sequential_numbers blocked']);
    bounds.trusted = true;
    for (let account = 1_000; account < 1_200; account += 1) assert.equal(ask(account).kind, 'new');
    for (let verdict = 0; verdict < 400; verdict += 1) hear(true);
    assert.deepEqual(holds(), []);
    assert.equal(ask(5_000).kind, 'blocked');
  });

  test('has at most four questions waiting while it is slowed', async () => {
    const { client, ask } = watched();
    for (let account = 0; account < 50; account += 1) ask(account);
    const waiting = Array.from({ length: 4 }, (_, account) => {
      assert.equal(ask(50 + account).kind, 'slowed');
      return client.slow();
    });
    assert.deepEqual(ask(60), { kind: 'blocked', reason: 'sequential_numbers', retryAfterMs: 1 });
    await Promise.all(waiting);
    assert.equal(ask(60).kind, 'slowed');
  });

  test('is given what it asked before this process began, unless the day is over', () => {
    const { client, ask, push } = watched(2);
    const hash = '00'.repeat(16);
    client.restore(client.today(), [hash, 'ff'.repeat(16)]);
    assert.equal(ask(FAR).kind, 'blocked');
    const yesterday = client.today();
    push(DAY_MS);
    client.restore(yesterday, [hash]);
    assert.equal(client.accountsToday(), 0);
  });
});

test('a hash is shortened to the 32 bits that it begins with', (t) => {
  const random = seededRandom(t);
  for (let turn = 0; turn < 1_000; turn += 1) {
    const hash = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join('');
    assert.equal(shortHash(hash), Number.parseInt(hash.slice(0, 8), 16) | 0);
  }
});
