import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { matchNames, NAME_MATCH_RESULTS } from '../../apps/server/src/name-match/name-match.ts';
import { NAME_MATCH_REASONS } from '../../apps/server/src/name-match/reasons.ts';
import { readHeldOutPairs, readPairs } from './pairs.ts';

/** Properties that hold for any two texts. `NAME_MATCH_SEED` repeats a run. */
const seed = Number(process.env['NAME_MATCH_SEED'] ?? randomInt(2 ** 31));
const runs = { seed, numRuns: 2000 };

const pairs = [...readPairs(), ...readHeldOutPairs()];
const realName = fc.constantFrom(...pairs.flatMap(({ expected, held }) => [expected, held]));
const realPair = fc.constantFrom(...pairs);
const nameLike = fc.string({
  unit: fc.constantFrom(...'ABHJMSTXYZ019 .*&-'.split(''), ' QQ ', ' PT ', ' ALM '),
  maxLength: 60,
});
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({ maxLength: 300 }),
  nameLike,
  realName,
);

const BANDS = { MATCH: [0.9, 1], CLOSE_MATCH: [0.7, 0.89], NO_MATCH: [0, 0.69], NOT_POSSIBLE: [0, 0] } as const;

test('any two texts have a result, a score in its band, and reasons that are published', (t) => {
  t.diagnostic(`NAME_MATCH_SEED=${seed}`);
  fc.assert(
    fc.property(anyText, anyText, (expected, held) => {
      const { result, score, reasons } = matchNames(expected, held);
      assert.ok(NAME_MATCH_RESULTS.includes(result));
      const [least, most] = BANDS[result];
      assert.ok(
        score >= least && score <= most && Number.isInteger(Math.round(score * 1e6) / 1e4),
        `${result} ${score}`,
      );
      assert.ok(reasons.length > 0 && reasons.every((reason) => Object.hasOwn(NAME_MATCH_REASONS, reason)));
      assert.equal(new Set(reasons).size, reasons.length);
    }),
    runs,
  );
});

test('a text against itself is MATCH or NOT_POSSIBLE', (t) => {
  t.diagnostic(`NAME_MATCH_SEED=${seed}`);
  fc.assert(
    fc.property(anyText, (text) => {
      assert.match(matchNames(text, text).result, /^(?:MATCH|NOT_POSSIBLE)$/);
    }),
    runs,
  );
});

test('case, spaces and hyphens for spaces make no difference', (t) => {
  t.diagnostic(`NAME_MATCH_SEED=${seed}`);
  fc.assert(
    fc.property(realPair, fc.boolean(), ({ expected, held }, first) => {
      const match = matchNames(expected, held);
      for (const change of [
        (text: string) => text.toLowerCase(),
        (text: string) => ` ${text.replaceAll(' ', '   ')} `,
        (text: string) => text.trim().replaceAll(/\s+/g, '-'),
      ]) {
        const changed = first ? matchNames(change(expected), held) : matchNames(expected, change(held));
        assert.deepEqual(changed, match);
      }
    }),
    runs,
  );
});

test('the two names may be swapped, unless one is truncated', (t) => {
  t.diagnostic(`NAME_MATCH_SEED=${seed}`);
  fc.assert(
    fc.property(fc.oneof(realPair, fc.record({ expected: nameLike, held: nameLike })), ({ expected, held }) => {
      const match = matchNames(expected, held);
      const mirrored = matchNames(held, expected);
      if (match.reasons.includes('CUT_OFF') || mirrored.reasons.includes('CUT_OFF')) return;
      assert.equal(mirrored.result, match.result);
    }),
    runs,
  );
});

test('titles, degrees or company forms on one side do not turn another result into a MATCH', (t) => {
  t.diagnostic(`NAME_MATCH_SEED=${seed}`);
  const around = fc.constantFrom<(name: string) => string>(
    (name) => `Bapak ${name}`,
    (name) => `Prof. Dr. ${name}`,
    (name) => `${name}, S.H., M.Kn.`,
    (name) => `PT ${name}`,
  );
  const different = fc.constantFrom(...pairs.filter(({ isSame }) => !isSame));
  fc.assert(
    fc.property(different, around, ({ expected, held }, decorate) => {
      assert.notEqual(matchNames(decorate(expected), held).result, 'MATCH');
    }),
    runs,
  );
});

test('texts of any length and content cost less than 50 ms', () => {
  const long = 1_000_000;
  const texts = [
    'A '.repeat(long),
    'S.'.repeat(long),
    '*A'.repeat(long),
    'XX '.repeat(long),
    '.'.repeat(long),
    'ﷺ'.repeat(long),
    'ABCDEF '.repeat(long),
    'MUHAMMAD '.repeat(long),
    '😀'.repeat(long),
    ' '.repeat(long),
    `BUDI & ${'QQ & SITI '.repeat(long)}`,
  ];
  for (const one of texts) {
    for (const other of texts) {
      const start = process.threadCpuUsage();
      const { result } = matchNames(one, `${other}!`);
      const { user, system } = process.threadCpuUsage(start);
      assert.ok(user + system < 50_000, `${one.slice(0, 10)} against ${other.slice(0, 10)}: ${user + system} µs`);
      assert.notEqual(result, 'MATCH');
    }
  }
});
