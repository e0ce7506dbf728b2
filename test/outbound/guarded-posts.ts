import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import {
  createGuardedHttp,
  type GuardedHttp,
  type GuardedHttpOptions,
} from '../../apps/server/src/outbound/guarded-http.ts';
import { OutboundFailure, type OutboundFailureReason } from '../../apps/server/src/outbound/outbound-failure.ts';
import { SANDBOX } from './policies.ts';

export const OWNER = { clientId: 'alpha', endpointId: 'ep_1' };

/** Until the test ends. */
export function open(context: TestContext, options: Partial<GuardedHttpOptions> = {}): GuardedHttp {
  const http = createGuardedHttp({ policy: SANDBOX, ...options });
  context.after(() => http.close());
  return http;
}

export const fails = (post: Promise<unknown>, reason: OutboundFailureReason, message?: RegExp): Promise<void> =>
  assert.rejects(post, (error) => {
    assert.ok(error instanceof OutboundFailure, String(error));
    assert.equal(error.reason, reason, error.message);
    if (message !== undefined) assert.match(error.message, message);
    return true;
  });
