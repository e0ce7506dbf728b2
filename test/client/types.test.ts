import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VerifiedCallback } from '../../packages/client/src/callbacks.ts';
import { type ErrorCode, type Event, TibaError, type Transaction } from '../../packages/client/src/index.ts';
import { exampleTransaction } from '../../packages/client/src/testing.ts';
import { documentOf } from '../support/openapi.ts';

/** The compiler is the test: where it should refuse, a line without an error does not compile (`npm run types`). */

function advice(error: TibaError): string {
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- what other codes carry is not tested here
  switch (error.error_code) {
    case 'RATE_LIMIT_EXCEEDED': {
      const ms: number = error.retryAfterMs;
      return `wait ${ms} ms`;
    }
    case 'STILL_IN_PROCESS': {
      const { status }: Transaction = error.transaction;
      return status;
    }
    // @ts-expect-error: there is no such code
    case 'RATE_LIMITED':
      return 'never';
    case 'TRANSACTION_NOT_FOUND': {
      // @ts-expect-error: this code has no time to wait for certain
      const ms: number = error.retryAfterMs;
      return String(ms);
    }
    default:
      return error.requestId ?? 'none';
  }
}

test('a code that does not exist does not compile in a switch, and each code has what belongs to it', () => {
  const error: unknown = new TibaError({
    error_code: 'RATE_LIMIT_EXCEEDED' satisfies ErrorCode,
    message: 'too many',
    operation: 'checkStatus',
    retryAfterMs: 1_000,
  });
  assert.ok(error instanceof TibaError && error instanceof Error);
  assert.equal(advice(error), 'wait 1000 ms');
  assert.equal(error.name, 'TibaError');
});

test('an amount is no number for the compiler', () => {
  const transaction = exampleTransaction();
  // @ts-expect-error: texts cannot be subtracted
  assert.equal(transaction.amount - transaction.fee, 147_500);
});

test('callbacks, events and check-status have the same statuses and types (xendit-node#225: they differed)', () => {
  const propertiesOf = (name: string): Readonly<Record<string, unknown>> => {
    const schema = documentOf('public').components.schemas[name] ?? assert.fail(name);
    return (schema as { properties: Readonly<Record<string, unknown>> }).properties;
  };
  for (const kind of ['Disbursement', 'AccountValidation', 'Bank']) {
    const [callback, event] = [propertiesOf(`${kind}Callback`), propertiesOf(`${kind}Event`)];
    assert.deepEqual([callback['data'], callback['type']], [event['data'], event['type']], kind);
  }
  assert.deepEqual(propertiesOf('DisbursementCallback')['data'], { $ref: '#/components/schemas/Transaction' });
  // For the compiler: what one of them has is what another one takes.
  const typeOf = ({ type }: VerifiedCallback['callback']): Event['type'] => type;
  const back = ({ type }: Event): VerifiedCallback['callback']['type'] => type;
  assert.ok(typeOf.length === 1 && back.length === 1);
});
