import assert from 'node:assert/strict';
import { createHmac as createReference } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { createHmac, type HmacHash } from '../../apps/server/src/rails/snap/signature.ts';

test("the HMAC of any message under any key equals OpenSSL's", (context) => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  context.diagnostic(`seed ${seed}`);
  const key = fc.uint8Array({ maxLength: 300 });
  const messages = fc.array(fc.string({ unit: 'binary', maxLength: 1_500 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(fc.constantFrom<HmacHash>('sha256', 'sha512'), key, messages, (algorithm, bytes, texts) => {
      const secret = Buffer.from(bytes);
      const hmac = createHmac(algorithm, secret);
      // One after the other: a message must leave nothing behind that changes the next.
      for (const text of texts) {
        assert.equal(hmac(text, 'base64'), createReference(algorithm, secret).update(text).digest('base64'));
        assert.equal(hmac(text, 'hex'), createReference(algorithm, secret).update(text).digest('hex'));
      }
    }),
    { seed, numRuns: 300 },
  );
});
