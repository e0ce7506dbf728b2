import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createClientGuard } from '../../apps/server/src/account-checks/enumeration/client-guard.ts';
import { shortHash } from '../../apps/server/src/account-checks/enumeration/daily-accounts.ts';
import { createNotFoundRatio } from '../../apps/server/src/account-checks/enumeration/not-found-ratio.ts';
import type { Restriction } from '../../apps/server/src/account-checks/enumeration/restrictions.ts';
import { createSequentialNumbers } from '../../apps/server/src/account-checks/enumeration/sequential-numbers.ts';
import { seededRandom } from '../rails/resilience/seed.ts';

/** The signals of enumeration, each by itself and then together, on a clock that the test advances. */

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const PAUSE_MS = 30 * MINUTE_MS;

suite('sequential account numbers', () => {
  test('are counted like a simple model counts them, for any order, pauses and banks', (t) => {
    const random = seededRandom(t);
    const sequentialNumbers = createSequentialNumbers();
    const model = new Map<string, { count: number; lastMs: number }>();
    let inRuns = 0;
    let inRunsMs = 0;
    let nowMs = 0;
    for (let turn = 0; turn < 20_000; turn += 1) {
      nowMs += random() < 0.002 ? PAUSE_MS * random() * 2 : 1_000 * random();
      const bic = random() < 0.5 ? 'BRINIDJA' : 'BNINIDJA';
      const number = String(10 ** 14 + Math.floor(random() * 30) * 10 ** 6 + Math.floor(random() * 3_000));
      const block = `${bic} ${number.slice(0, -3)}`;
      const before = model.get(block);
      const count = 1 + (before !== undefined && nowMs - before.lastMs < PAUSE_MS ? before.count : 0);
      model.set(block, { count, lastMs: nowMs });
      if (count >= 50) {
        if (nowMs - inRunsMs >= PAUSE_MS) inRuns = 0;
        inRuns += count === 50 ? 50 : 1;
        inRunsMs = nowMs;
      }
      sequentialNumbers.recordCheck(bic, number, nowMs);
      assert.equal(sequentialNumbers.inRuns(), count < 50 ? 0 : inRuns, `turn ${turn}`);
      if (random() < 0.001) {
        sequentialNumbers.resetRuns();
        model.clear();
        inRuns = 0;
      }
    }
  });

  const largest = (numbers: readonly string[]): number => {
    const sequentialNumbers = createSequentialNumbers();
    const figures = numbers.map((number, index) => {
      sequentialNumbers.recordCheck('BRINIDJA', number, index);
      return sequentialNumbers.inRuns();
    });
    return Math.max(...figures);
  };
  const sequence = (count: number, numberAt: (index: number) => number): string[] =>
    Array.from({ length: count }, (_, index) => String(1_000_000_000 + numberAt(index)));

  test('are detected ascending, descending, with check digits, shuffled, and among other accounts', (t) => {
    const random = seededRandom(t);
    assert.equal(largest(sequence(300, (index) => index)), 300);
    assert.equal(largest(sequence(300, (index) => 500 - index)), 300);
    assert.equal(largest(sequence(300, (index) => index * 13)), 300);
    assert.equal(largest(sequence(300, (index) => index).toSorted(() => random() - 0.5)), 300);
    // Every sixth number continues the sequence.
    const far = (): number => 10_000 + Math.floor(random() * 8_000_000_000);
    assert.equal(largest(sequence(1_800, (index) => (index % 6 === 0 ? index / 6 : far()))), 300);
  });

  test('are detected when hundreds of ranges are enumerated in turn', () => {
    const interleaved = sequence(30_000, (index) => (index % 500) * 10_000 + Math.floor(index / 500));
    assert.ok(largest(interleaved) > 500 * 50);
  });

  test('have the same length and the same leading digits', () => {
    const prefixes = ['12', '012', '0012', '1234567890123456789012345678901', '2234567890123456789012345678901'];
    const numbers = prefixes.flatMap((prefix) =>
      Array.from({ length: 49 }, (_, index) => `${prefix}${String(index).padStart(3, '0')}`),
    );
    assert.equal(largest(numbers), 0);
    assert.equal(largest([...numbers, '1234567890123456789012345678901999']), 50);
  });

  test('of e-mail addresses are the digits before the @, and other letters are no sequence', () => {
    const addresses = (count: number, nameAt: (index: number) => string, domain = 'example.com'): string[] =>
      Array.from({ length: count }, (_, index) => `${nameAt(index)}@${domain}`);
    assert.equal(largest(addresses(300, (index) => `user${String(index).padStart(4, '0')}`)), 300);
    assert.equal(largest(addresses(100, (index) => String(100 + index))), 100);
    const letters = (index: number): string => String.fromCharCode(97 + (index % 26), 97 + Math.floor(index / 26));
    assert.equal(largest(addresses(300, (index) => `bu${letters(index)}`)), 0);
    const domains = ['a.example', 'b.example', 'c.example', 'd.example', 'e.example', 'f.example'];
    assert.equal(largest(domains.flatMap((domain) => addresses(49, (index) => `user${100 + index}`, domain))), 0);
  });

  test('are not found among random account numbers', (t) => {
    const random = seededRandom(t);
    assert.equal(largest(sequence(100_000, () => Math.floor(random() * 8_000_000_000))), 0);
  });
});

suite('clusters of account numbers', () => {
  /** Checks the numbers one after the other. Returns the largest figure of the day. */
  const largestOf = (numbers: readonly number[], sequentialNumbers = createSequentialNumbers()): number => {
    const figures = numbers.map((number, index) => {
      sequentialNumbers.recordCheck('BRINIDJA', String(1_000_000_000 + number), index * 1_000);
      return sequentialNumbers.inClusters();
    });
    return Math.max(...figures);
  };
  const blocks = (count: number, size: number): number[] =>
    Array.from({ length: count * size }, (_, index) => Math.floor(index / size) * 1_000 + (index % size));

  test('count from ten accounts of one thousand, and with at most 50 of each thousand', () => {
    assert.equal(largestOf(blocks(100, 9)), 0);
    assert.equal(largestOf(blocks(100, 10)), 1_000);
    assert.equal(largestOf(blocks(1, 1_000)), 50);
    assert.equal(largestOf(blocks(5, 200)), 250, 'five payrolls do not reach the threshold of 300');
  });

  test('count from midnight, also across pauses', () => {
    const sequentialNumbers = createSequentialNumbers();
    for (const account of blocks(20, 10)) {
      sequentialNumbers.recordCheck('BRINIDJA', String(1_000_000_000 + account), account * PAUSE_MS);
    }
    assert.equal(sequentialNumbers.inClusters(), 200);
    sequentialNumbers.startDay();
    assert.equal(largestOf(blocks(20, 9), sequentialNumbers), 0);
    assert.equal(largestOf([9], sequentialNumbers), 10);
  });

  test('are detected among 80,000 random accounts, and when they are checked in turn', (t) => {
    const random = seededRandom(t);
    const far = (): number => 100_000_000 + Math.floor(random() * 8_000_000_000);
    const hidden = blocks(2_000, 10).flatMap((account) => [account, far(), far(), far(), far()]);
    assert.ok(largestOf(hidden) >= 300);
    const inTurn = Array.from({ length: 20_000 }, (_, index) => (index % 2_000) * 1_000 + Math.floor(index / 2_000));
    assert.ok(largestOf(inTurn) >= 300);
  });

  test('are rare among 100,000 random accounts of a bank that has numbered 100 million accounts densely', (t) => {
    const random = seededRandom(t);
    assert.ok(largestOf(Array.from({ length: 100_000 }, () => Math.floor(random() * 100_000_000))) < 150);
  });
});

test('the NOT_FOUND ratio covers the last 400 verdicts, needs 200, and starts again after a pause', (t) => {
  const random = seededRandom(t);
  const ratio = createNotFoundRatio();
  let model: boolean[] = [];
  let nowMs = 0;
  for (let turn = 0; turn < 10_000; turn += 1) {
    const pauses = random() < 0.001;
    nowMs += pauses ? PAUSE_MS : 1_000;
    const isNotFound = random() < Math.abs(Math.sin(turn / 1_000));
    model = [...(pauses ? [] : model), isNotFound].slice(-400);
    const expected = model.length < 200 ? 0 : model.filter(Boolean).length / model.length;
    assert.equal(ratio.recordVerdict(isNotFound, nowMs), expected, `turn ${turn}`);
  }
});

/** A client guard, and helpers that check accounts by a number. */
function guarded(accountsPerDay = 100_000) {
  // Midnight in Jakarta.
  const clock = { nowMs: 1_000, wallMs: Date.UTC(2026, 10, 20, 17) };
  const limits = { accountsPerDay, trusted: false };
  const imposed: Restriction[] = [];
  const lifted: Restriction[] = [];
  const client = createClientGuard({
    limits: () => limits,
    wallMs: () => clock.wallMs,
    slowedMs: 1,
    onRestricted: (restriction) => void imposed.push(restriction),
    onLifted: (restriction) => void lifted.push(restriction),
  });
  return {
    client,
    limits,
    imposed,
    lifted,
    advance(ms: number) {
      clock.nowMs += ms;
      clock.wallMs += ms;
    },
    check: (account: number) =>
      client.admit(
        {
          bic: 'BRINIDJA',
          accountNumber: String(1_000_000_000 + account),
          hash: (account * 2_654_435_761).toString(16).padStart(32, '0').split('').toReversed().join(''),
        },
        clock.nowMs,
      ),
    recordVerdict: (isNotFound: boolean) => client.recordVerdict(isNotFound, clock.nowMs),
    restrictions: () => client.restrictions(clock.nowMs).map(({ signal, level }) => `${signal} ${level}`),
  };
}

const FAR = 1_000;

suite('a client', () => {
  test('may check as many accounts in a Jakarta day as its limit, and repeat those checks', () => {
    const { check, advance, restrictions, lifted, limits } = guarded(100);
    for (let account = 0; account < 100; account += 1) assert.equal(check(account * FAR).kind, 'new');
    for (let account = 0; account < 100; account += 1) assert.equal(check(account * FAR).kind, 'known');
    advance(DAY_MS - 5_000);
    assert.deepEqual(check(100 * FAR), { kind: 'blocked', reason: 'accounts_per_day', retryAfterMs: 5_000 });
    assert.equal(check(99 * FAR).kind, 'known');
    assert.deepEqual(restrictions(), ['accounts_per_day blocked']);
    limits.accountsPerDay = 101;
    assert.equal(check(100 * FAR).kind, 'new');
    assert.equal(check(101 * FAR).kind, 'blocked');
    advance(5_000);
    assert.deepEqual([restrictions().length, lifted.length], [0, 2]);
    assert.equal(check(0).kind, 'new', 'a new day has new accounts');
  });

  test('is slowed at 50 sequential numbers, blocked at 200, and free half an hour after the last', () => {
    const { check, advance, restrictions, imposed, lifted } = guarded();
    const kinds = Array.from({ length: 1_000 }, (_, account) => check(account).kind);
    const count = (wanted: string) => kinds.filter((kind) => kind === wanted).length;
    assert.deepEqual([count('new'), count('slowed'), count('blocked')], [50, 150, 800]);
    assert.deepEqual(restrictions(), ['sequential_numbers blocked']);
    assert.equal(check(7).kind, 'known');
    assert.equal(check(500 * FAR).kind, 'blocked', 'every new account is blocked');
    advance(PAUSE_MS - 1);
    assert.equal(check(500 * FAR).kind, 'blocked');
    advance(1);
    assert.equal(check(500 * FAR).kind, 'new');
    assert.deepEqual(
      imposed.map(({ level, figure }) => [level, figure]),
      [
        ['slowed', 50],
        ['blocked', 200],
      ],
    );
    assert.equal(lifted.length, 1);
  });

  test('is slowed and blocked by NOT_FOUND verdicts, and free again when their ratio is normal', () => {
    const { recordVerdict, advance, restrictions } = guarded();
    for (let verdict = 0; verdict < 200; verdict += 1) recordVerdict(verdict % 10 < 6);
    assert.deepEqual(restrictions(), ['not_found_ratio slowed']);
    for (let verdict = 0; verdict < 400; verdict += 1) recordVerdict(verdict % 10 === 0);
    advance(PAUSE_MS);
    assert.deepEqual(restrictions(), []);
    for (let verdict = 0; verdict < 200; verdict += 1) recordVerdict(true);
    assert.deepEqual(restrictions(), ['not_found_ratio blocked']);
    // This verdict was in flight when the client was blocked.
    advance(4_000);
    recordVerdict(true);
    advance(PAUSE_MS - 4_000);
    recordVerdict(true);
    assert.deepEqual(restrictions(), [], 'the signal counts from zero after a block');
  });

  test('that becomes trusted is restricted by the accounts per day only', () => {
    const { check, recordVerdict, restrictions, limits } = guarded(400);
    for (let account = 0; account < 250; account += 1) check(account);
    assert.deepEqual(restrictions(), ['sequential_numbers blocked']);
    limits.trusted = true;
    for (let account = 1_000; account < 1_200; account += 1) assert.equal(check(account).kind, 'new');
    for (let verdict = 0; verdict < 400; verdict += 1) recordVerdict(true);
    assert.deepEqual(restrictions(), []);
    assert.equal(check(5_000).kind, 'blocked');
  });

  test('has at most four checks delayed at the same time while it is slowed', async () => {
    const { client, check } = guarded();
    for (let account = 0; account < 50; account += 1) check(account);
    const delayed = Array.from({ length: 4 }, (_, account) => {
      assert.equal(check(50 + account).kind, 'slowed');
      return client.slow();
    });
    assert.deepEqual(check(60), { kind: 'blocked', reason: 'sequential_numbers', retryAfterMs: 1 });
    await Promise.all(delayed);
    assert.equal(check(60).kind, 'slowed');
  });

  test('gets back the accounts that it checked today before this process started', () => {
    const { client, check, advance } = guarded(2);
    const hash = '00'.repeat(16);
    client.restore(client.today(), [hash, 'ff'.repeat(16)]);
    assert.equal(check(FAR).kind, 'blocked');
    const yesterday = client.today();
    advance(DAY_MS);
    client.restore(yesterday, [hash]);
    assert.equal(client.accountsToday(), 0);
  });
});

test('a short hash is the first 32 bits of the hash', (t) => {
  const random = seededRandom(t);
  for (let turn = 0; turn < 1_000; turn += 1) {
    const hash = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join('');
    assert.equal(shortHash(hash), Number.parseInt(hash.slice(0, 8), 16) | 0);
  }
});
