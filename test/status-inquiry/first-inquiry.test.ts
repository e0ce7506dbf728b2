import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { assertSuccess } from '../contract/assertions.ts';
import { eventually } from '../support/eventually.ts';
import { send, startTestService, statusUpdate, type TestService } from '../support/service.ts';

/** A bank that says when it wants the first status inquiry about a transfer, beside one that does not. */

const TEN_MINUTES_MS = 600_000;

/** The references of all status inquiries. */
const inquired: string[] = [];
const railOf = (name: string, changes: Partial<Rail> = {}): Rail => ({
  name,
  reaches: () => true,
  inquireAccount: async () => ({ kind: 'no_verdict', reason: 'unreachable', railCode: null }),
  async inquireStatus({ reference }) {
    inquired.push(reference);
    return { kind: 'status', status: 'PROCESS', railCode: '03' };
  },
  close: async () => {},
  ...changes,
});

let service: TestService;
before(async () => {
  const rails = [railOf('patient', { firstStatusInquiryMs: TEN_MINUTES_MS }), railOf('usual')];
  service = await startTestService({ rails });
});
after(() => service?.close());

/** Feeds a transaction in PROCESS whose IDs are this one. */
async function feed(id: string, rail: string): Promise<void> {
  const update = { transaction_id: id, reference_id: id, created_at: new Date().toISOString() };
  assertSuccess(await service.feed(statusUpdate({ ...update, rail, rail_reference: id })));
}

/** As an operator. Resolves with the result. */
async function inquireNow(id: string): Promise<unknown> {
  const { token } = await service.addClient('operator', ['operator:read', 'operator:write']);
  const answer = await send(`${service.operatorUrl}/operator/v1/transactions/${id}/inquire?client_id=alpha`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"reason":"Ticket 4711: the customer asks"}',
  });
  return assertSuccess(answer)['result'];
}

/** From now to the next inquiry about a transaction, in milliseconds. */
async function untilNextMs(id: string): Promise<number> {
  const [row] = await service.app.database.query<{ ms: number }>(
    `select extract(epoch from next_at - now())::float8 * 1000 as ms from tiba.status_inquiries
      where transaction_id = $1`,
    [id],
  );
  return row?.ms ?? assert.fail(`${id} has no status inquiries`);
}

const inquiriesAbout = (id: string): number => inquired.filter((reference) => reference === id).length;

suite('a bank that wants the first status inquiry ten minutes after the order', () => {
  test('is asked then by the schedule, and any other bank after 5 s', async () => {
    await feed('TB0000001001', 'patient');
    await feed('TB0000001002', 'usual');
    // Some of the time has passed since.
    const patientMs = await untilNextMs('TB0000001001');
    assert.ok(patientMs > TEN_MINUTES_MS - 60_000 && patientMs <= TEN_MINUTES_MS, `due in ${patientMs} ms`);
    assert.ok((await untilNextMs('TB0000001002')) <= 60_000);
  });

  test('is not asked before for a reader or an operator, and any other bank is', async () => {
    await feed('TB0000001003', 'patient');
    await feed('TB0000001004', 'usual');
    for (const id of ['TB0000001003', 'TB0000001004']) {
      assert.equal(assertSuccess(await service.get(`/api/v1/check-status/${id}`))['status'], 'PROCESS');
    }
    await eventually('the usual bank is asked', () => inquiriesAbout('TB0000001004') > 0);
    await feed('TB0000001005', 'patient');
    assert.equal(await inquireNow('TB0000001005'), 'too_soon');
    assert.deepEqual([inquiriesAbout('TB0000001003'), inquiriesAbout('TB0000001005')], [0, 0]);
  });

  test('is asked by a reader from the first inquiry on', async () => {
    await feed('TB0000001006', 'patient');
    await service.app.database.query(
      `update tiba.status_inquiries
          set next_at = now() + interval '1 hour', last_inquired_at = now() - interval '1 hour'
        where transaction_id = 'TB0000001006'`,
    );
    assertSuccess(await service.get('/api/v1/check-status/TB0000001006'));
    await eventually('the bank is asked', () => inquiriesAbout('TB0000001006') > 0);
  });
});
