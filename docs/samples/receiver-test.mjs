import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fetchCallbackHandler } from '@tiba/client/handlers';
import { disbursementCallback, signCallback, TEST_SECRET } from '@tiba/client/testing';

const stored = [];
const handle = fetchCallbackHandler({
  secrets: TEST_SECRET,
  onCallback: ({ callback }) => stored.push(callback.data.status),
});
const post = (signed) => handle(new Request('https://shop.example/tiba', { method: 'POST', ...signed }));

test('a genuine callback is stored, and a changed one is refused', async () => {
  const signed = await signCallback(disbursementCallback({ reference_id: 'INV/2026/001' }));
  assert.equal((await post(signed)).status, 204);
  assert.equal((await post({ ...signed, body: signed.body.replace('SUCCESS', 'FAILED') })).status, 401);
  assert.deepEqual(stored, ['SUCCESS']);
});
