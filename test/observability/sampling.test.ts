import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSampler, type Sampling } from '../../apps/server/src/observability/tracing/sampling.ts';

const SAMPLED = { traceId: '0af7651916cd43dd8448eb211c80319c', isSampled: true };
const UNSAMPLED = { ...SAMPLED, isSampled: false };
const decide = (sampling: Sampling, random = 0.5) => createSampler(sampling, () => random);

describe('sampling', () => {
  it('records the given share of the traces that begin here', () => {
    const ratio = { ratio: 0.25, followsParent: true };
    assert.ok(decide(ratio, 0.2499)(undefined));
    assert.ok(!decide(ratio, 0.25)(undefined));
    assert.ok(!decide({ ratio: 0, followsParent: true }, 0)(undefined));
    assert.ok(decide({ ratio: 1, followsParent: true }, 0.999_999)(undefined));
  });

  it('follows a trusted caller with parentbased_…', () => {
    assert.ok(decide({ ratio: 0, followsParent: true })(SAMPLED));
    assert.ok(!decide({ ratio: 1, followsParent: true })(UNSAMPLED));
  });

  it("decides by a trusted caller's trace ID with traceidratio, whatever its flag says", () => {
    // Its last 13 digits are 0.5574 of 16^13.
    for (const parent of [SAMPLED, UNSAMPLED]) {
      assert.ok(decide({ ratio: 0.558, followsParent: false })(parent));
      assert.ok(!decide({ ratio: 0.557, followsParent: false })(parent));
    }
  });
});
