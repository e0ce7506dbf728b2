import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { secretKeyOf, sign } from '../../apps/server/src/callbacks/signature.ts';

test('the published test vector of Standard Webhooks is reproduced', () => {
  const signature = sign([secretKeyOf('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')], {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    unixSeconds: 1614265330,
    body: '{"test": 2432232314}',
  });
  assert.equal(signature, 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

test("signatures equal those of the specification's own library", () => {
  const secrets = fc.uint8Array({ minLength: 24, maxLength: 64 }).map((bytes) => Buffer.from(bytes).toString('base64'));
  const contents = fc.record({
    id: fc.stringMatching(/^[a-z]{3}_[A-Za-z0-9]{1,20}_[0-9]{1,3}$/),
    unixSeconds: fc.integer({ min: 1, max: 4_000_000_000 }),
    body: fc.string({ unit: 'grapheme' }),
  });
  fc.assert(
    fc.property(secrets, contents, (encoded, content) => {
      const secret = `whsec_${encoded}`;
      const expected = new Webhook(secret).sign(content.id, new Date(content.unixSeconds * 1000), content.body);
      assert.equal(sign([secretKeyOf(secret)], content), expected);
    }),
  );
});

test('with two keys, a receiver with either secret accepts the signature, and one with another secret does not', () => {
  const [one, other, third] = Array.from({ length: 3 }, () => `whsec_${randomBytes(32).toString('base64')}`) as [
    string,
    string,
    string,
  ];
  const body = '{"a":1}';
  const unixSeconds = Math.floor(Date.now() / 1000);
  const signature = sign([secretKeyOf(one), secretKeyOf(other)], { id: 'evt_1', unixSeconds, body });
  const headers = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(unixSeconds),
    'webhook-signature': signature,
  };
  assert.deepEqual(new Webhook(one).verify(body, headers), { a: 1 });
  assert.deepEqual(new Webhook(other).verify(body, headers), { a: 1 });
  assert.throws(() => new Webhook(third).verify(body, headers));
});

test('an empty secret is rejected', () => {
  assert.throws(() => secretKeyOf('whsec_'), /empty/);
  assert.throws(() => secretKeyOf(''), /empty/);
});
