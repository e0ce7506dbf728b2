import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  FAILURE_REASONS,
  type FailureReason,
  publishedReason,
  readFailureReason,
} from '../../apps/server/src/domain/failure-reason.ts';

const CODES = Object.keys(FAILURE_REASONS) as FailureReason[];

test('the published list has at least the reasons promised to clients', () => {
  const promised =
    `ACCOUNT_NOT_FOUND ACCOUNT_INACTIVE ACCOUNT_DORMANT ACCOUNT_BLOCKED NAME_MISMATCH AMOUNT_LIMIT_EXCEEDED
    INSUFFICIENT_FUNDS SUSPECTED_FRAUD BANK_UNAVAILABLE BANK_NOT_SUPPORTED CUT_OFF CANCELLED REFUNDED DUPLICATE
    REJECTED_BY_BANK OTHER`.split(/\s+/);
  assert.deepEqual(
    promised.filter((code) => !(CODES as string[]).includes(code)),
    [],
  );
});

test('each reason is a code, what happened and what to do, in one line that the feed accepts', () => {
  for (const code of CODES) {
    const text = publishedReason(code);
    assert.match(text, /^[A-Z]+(?:_[A-Z]+)*: [A-Z][^.:]+\. [A-Z][^.:]+\.$/);
    assert.ok(text.length <= 200);
    assert.equal(readFailureReason(text), code);
    assert.equal(readFailureReason(code), code);
  }
  assert.equal(new Set(CODES.map(publishedReason)).size, CODES.length);
});

test('a text that is not published is read as OTHER', () => {
  const text = publishedReason('CANCELLED');
  for (const other of [
    '',
    'cancelled',
    `${text} `,
    text.slice(0, -1),
    'CANCELLED:',
    'CANCELLED: no',
    'hasOwnProperty',
  ]) {
    assert.equal(readFailureReason(other), 'OTHER');
  }
});
