import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDailyIds } from '../../apps/bank/src/identifiers.ts';
import { createTokens } from '../../apps/bank/src/snap/tokens.ts';
import { createTransferStore } from '../../apps/bank/src/transfers/transfer-store.ts';
import { INTERBANK_ORDER } from './transfers.ts';

const NOON_MS = Date.parse('2026-11-21T12:00:00+07:00');
const HOUR_MS = 60 * 60 * 1000;

describe('the memory of the bank', () => {
  it('retains at least the latest generation of external ids, and at most two generations', () => {
    const ids = createDailyIds(1000);
    for (let id = 0; id < 2000; id += 1) assert.ok(ids.claim(String(id), NOON_MS));
    for (let id = 1000; id < 2000; id += 1) assert.equal(ids.claim(String(id), NOON_MS), false);
    assert.ok(ids.claim('2000', NOON_MS));
    assert.ok(ids.claim('0', NOON_MS), 'the oldest generation is dropped');
  });

  it('retains external ids for one day', () => {
    const ids = createDailyIds(1000);
    assert.ok(ids.claim('1', NOON_MS));
    assert.equal(ids.claim('1', NOON_MS + 12 * HOUR_MS - 1), false);
    assert.ok(ids.claim('1', NOON_MS + 12 * HOUR_MS));
  });

  it('retains the latest tokens, up to a limit', () => {
    const tokens = createTokens(HOUR_MS, 3);
    const issued = Array.from({ length: 4 }, () => tokens.issue(NOON_MS));
    assert.deepEqual(
      issued.map((token) => tokens.isValid(token, NOON_MS)),
      [false, true, true, true],
    );
  });

  it('retains tokens for their lifetime', () => {
    const tokens = createTokens(HOUR_MS);
    const token = tokens.issue(NOON_MS);
    assert.ok(tokens.isValid(token, NOON_MS + HOUR_MS - 1));
    assert.equal(tokens.isValid(token, NOON_MS + HOUR_MS), false);
  });

  it('retains the latest transfers, up to a limit, by either reference', () => {
    const store = createTransferStore(3);
    const names = ['1', '2', '3', '4'];
    for (const name of names) {
      const order = { ...INTERBANK_ORDER, service: '18', partnerReferenceNo: `P-${name}` } as const;
      store.add({ ...order, referenceNo: `B-${name}`, acceptedAtMs: NOON_MS }, NOON_MS);
    }
    const known = names.map((name) => [
      store.has(`P-${name}`, NOON_MS),
      store.find({ partnerReferenceNo: '', referenceNo: `B-${name}` }, NOON_MS) !== null,
    ]);
    assert.deepEqual(known, [
      [false, false],
      [true, true],
      [true, true],
      [true, true],
    ]);
    assert.equal([...store.all()].length, 3);
  });
});
