import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { NAME_MATCH_REASONS } from '../../apps/server/src/name-match/reasons.ts';
import { summaryOf } from './evaluate.ts';
import { evaluate, PRECISION_MIN } from './evaluation.ts';
import { readHeldOutPairs, readPairs } from './pairs.ts';
import { timeMatchers } from './timing.ts';

const RECALL_MIN = 0.95;
const COST_MAX_US = 50;

const evaluation = evaluate();
const page = readFileSync(new URL('../../docs/name-match.md', import.meta.url), 'utf8');

suite('the pairs', () => {
  test('are at least 640 without the held-out ones, half of all have different holders, and none occurs twice', () => {
    const pairs = readPairs();
    const all = [...pairs, ...readHeldOutPairs()];
    assert.ok(pairs.length >= 640);
    assert.ok(all.filter((pair) => !pair.isSame).length * 2 >= all.length);
    assert.equal(new Set(all.map(({ expected, held }) => `${expected}\t${held}`)).size, all.length);
  });
});

suite('names are matched', () => {
  const { own, ownHeldOut, peers } = evaluation;

  for (const [set, figures] of [
    ['pairs by kind', own],
    ['held-out pairs', ownHeldOut],
  ] as const) {
    test(`with a precision of MATCH of 0.99 and a recall of MATCH or CLOSE_MATCH of 0.95, on the ${set}`, () => {
      assert.ok(figures.match.precision >= PRECISION_MIN, `precision ${figures.match.precision}`);
      assert.ok(figures.matchOrClose.recall >= RECALL_MIN, `recall ${figures.matchOrClose.recall}`);
    });
  }

  test('with more than half of the same holders as a MATCH', () => {
    assert.ok(own.match.recall > 0.5 && ownHeldOut.match.recall > 0.5);
  });

  for (const { peer, bestF1, balanced, precise } of peers) {
    test(`with more precision and more recall than ${peer.name} at its balanced threshold`, () => {
      assert.ok(own.match.precision > balanced.figures.precision);
      assert.ok(own.matchOrClose.recall > balanced.figures.recall);
      assert.ok(ownHeldOut.match.precision > balanced.heldOut.precision);
      assert.ok(ownHeldOut.matchOrClose.recall > balanced.heldOut.recall);
    });

    test(`with more precision and a higher F1 than ${peer.name} at its best F1`, () => {
      assert.ok(own.match.precision > bestF1.figures.precision);
      assert.ok(own.match.f1 > bestF1.figures.f1 && own.matchOrClose.f1 > bestF1.figures.f1);
    });

    test(`with more recall of MATCH alone than ${peer.name} at the same precision`, () => {
      assert.ok(own.match.recall > (precise?.figures.recall ?? 0));
      assert.ok(ownHeldOut.match.recall > (precise?.heldOut.recall ?? 0));
    });
  }

  test('in less than 50 µs a pair', (t) => {
    const costs = timeMatchers();
    for (const [name, costUs] of costs) t.diagnostic(`${name}: ${costUs.toFixed(1)} µs`);
    assert.ok((costs.get('Tiba') ?? Number.POSITIVE_INFINITY) < COST_MAX_US);
  });
});

suite('docs/name-match.md', () => {
  test('has the figures of the evaluation', () => {
    for (const part of summaryOf(evaluation)) assert.ok(page.includes(part), `is not in the page:\n${part}`);
  });

  test('has the exported reasons, in the same order and with the same text', () => {
    const rows = [...page.matchAll(/^\| `([A-Z_]+)` +\| (.+?) +\|$/gm)].map(([, code = '', means = '']) => [
      code,
      means,
    ]);
    const reasons = rows.filter(([code = '']) => !['MATCH', 'CLOSE_MATCH', 'NO_MATCH', 'NOT_POSSIBLE'].includes(code));
    assert.deepEqual(reasons, Object.entries(NAME_MATCH_REASONS));
  });
});
