import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { assertError } from '../contract/assertions.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { call, DELIVERIES, dataOf, feedSuccesses, openSql, register } from './endpoints-harness.ts';

/** The list of deliveries and their attempts, as the client reads them. */

interface Listed {
  readonly delivery_id: string;
  readonly endpoint_id: string;
  readonly sequence: number;
  readonly event_id: string;
  readonly state: string;
  readonly attempt_count: number;
  readonly next_attempt_at: string | null;
  readonly ended_at: string | null;
}
interface Page {
  readonly deliveries: readonly Listed[];
  readonly next_after: string | null;
  readonly has_more: boolean;
}

const EVENTS_FED = 12;

let service: TestService;
let sql: Awaited<ReturnType<typeof openSql>>;
let endpoints: string[];
let transactionIds: string[];
before(async () => {
  service = await startTestService({ rails: [] });
  sql = await openSql(service);
  endpoints = [(await register(service)).endpointId, (await register(service)).endpointId].toSorted();
  // Disabled, so that the dispatcher does not change the rows below.
  await sql(`update tiba.callback_endpoints set disabled_at = now(), disabled_reason = 'client'`);
  transactionIds = await feedSuccesses(service, EVENTS_FED);
  await sql(
    `insert into tiba.callback_attempts
       (client_id, endpoint_id, sequence, attempt, started_at, duration_ms, http_status)
     select client_id, endpoint_id, sequence, 1, '2026-11-21T11:59:59Z', 1000, 204
       from tiba.events join tiba.callback_endpoints using (client_id) where sequence % 3 = 1`,
  );
  await sql(
    `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at, state, ended_at)
     select client_id, endpoint_id, sequence, '2026-11-22T00:00:00Z',
            case sequence % 3 when 0 then 'exhausted' else 'pending' end,
            case sequence % 3 when 0 then timestamptz '2026-11-21T12:00:00Z' end
       from tiba.events join tiba.callback_endpoints using (client_id) where sequence % 3 <> 1`,
  );
});
after(async () => {
  await sql?.end();
  await service?.close();
});

const page = async (query: string): Promise<Page> =>
  dataOf(await call(service, 'GET', `${DELIVERIES}${query}`)) as unknown as Page;

async function allPages(query: string): Promise<Listed[]> {
  const seen: Listed[] = [];
  for (let after = ''; ; ) {
    const { deliveries, next_after: next, has_more: hasMore } = await page(`${query}${after}`);
    seen.push(...deliveries);
    assert.equal(next !== null, hasMore);
    if (next === null) return seen;
    assert.equal(next, deliveries.at(-1)?.delivery_id);
    after = `&after=${next}`;
  }
}

const newestFirst = (wanted: (sequence: number) => boolean, of: readonly string[]): string[] =>
  Array.from({ length: EVENTS_FED }, (_, index) => EVENTS_FED - index)
    .filter(wanted)
    .flatMap((sequence) => of.toReversed().map((endpointId) => `${endpointId}-${sequence}`));

suite('the list', () => {
  test('has the latest events first, with the state of each delivery', async () => {
    const { deliveries, has_more: hasMore, next_after: next } = await page('');
    assert.deepEqual([hasMore, next], [false, null]);
    assert.deepEqual(
      deliveries.map((each) => each.delivery_id),
      newestFirst(() => true, endpoints),
    );
    const [latest] = deliveries;
    assert.deepEqual(latest, {
      delivery_id: `${endpoints[1]}-12`,
      endpoint_id: endpoints[1],
      sequence: 12,
      event_id: `evt_${transactionIds[11]}_1`,
      type: 'disbursement.succeeded',
      state: 'exhausted',
      attempt_count: 0,
      next_attempt_at: null,
      ended_at: '2026-11-21T12:00:00.000Z',
    });
    const pending = deliveries.find(({ state }) => state === 'pending');
    assert.deepEqual([pending?.next_attempt_at, pending?.ended_at], ['2026-11-22T00:00:00.000Z', null]);
  });

  test('is filtered by endpoint and by state', async () => {
    const [one = ''] = endpoints;
    const ids = (listed: readonly Listed[]): string[] => listed.map((each) => each.delivery_id);
    const only = (await page(`?endpoint_id=${one}`)).deliveries;
    assert.deepEqual(
      ids(only),
      newestFirst(() => true, [one]),
    );
    for (const [remainder, state] of ['exhausted', 'delivered', 'pending'].entries()) {
      const wanted = (sequence: number): boolean => sequence % 3 === remainder;
      assert.deepEqual(ids((await page(`?state=${state}`)).deliveries), newestFirst(wanted, endpoints));
      assert.deepEqual(ids((await page(`?state=${state}&endpoint_id=${one}`)).deliveries), newestFirst(wanted, [one]));
    }
  });

  test('pages of any size neither repeat nor skip deliveries, even while new events arrive', async () => {
    const whole = newestFirst(() => true, endpoints);
    for (const limit of [1, 2, 5, 24, 25]) {
      const seen = await allPages(`?limit=${limit}`);
      assert.deepEqual(
        seen.map((each) => each.delivery_id),
        whole,
      );
    }
    const { next_after: next } = await page('?limit=5');
    await feedSuccesses(service, 3);
    await sql(
      `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at)
       select 'alpha', $1, sequence, now() from tiba.events where client_id = 'alpha' and sequence > $2`,
      [endpoints[0], EVENTS_FED],
    );
    const { deliveries } = await page(`?limit=1000&after=${next}`);
    assert.deepEqual(
      deliveries.map((each) => each.delivery_id),
      whole.slice(5),
    );
  });
});

suite('one delivery', () => {
  const attempts = [
    {
      attempt: 1,
      started_at: '2026-11-21T10:00:00.000Z',
      duration_ms: 15000,
      http_status: null,
      answer: null,
      error: 'no answer',
    },
    {
      attempt: 2,
      started_at: '2026-11-21T10:00:20.000Z',
      duration_ms: 12,
      http_status: 503,
      answer: 'busy "now"\n',
      error: null,
    },
  ];

  test('has all its attempts in order', async () => {
    const id = `${endpoints[0]}-3`;
    for (const each of attempts.toReversed()) {
      const { started_at: startedAt, duration_ms: durationMs, attempt, http_status: httpStatus, answer, error } = each;
      await sql(
        `insert into tiba.callback_attempts
           (client_id, endpoint_id, sequence, started_at, duration_ms, attempt, http_status, answer, error)
         values ('alpha', $1, 3, $2, $3, $4, $5, $6, $7)`,
        [endpoints[0], startedAt, durationMs, attempt, httpStatus, answer, error],
      );
    }
    const data = dataOf(await call(service, 'GET', `${DELIVERIES}/${id}`));
    assert.deepEqual([data['delivery_id'], data['state']], [id, 'exhausted']);
    assert.deepEqual(data['attempts'], attempts);
  });

  test('shows the latest hundred attempts when replays have added more', async () => {
    await sql(
      `insert into tiba.callback_attempts
         (client_id, endpoint_id, sequence, started_at, duration_ms, attempt, http_status, answer, error)
       select 'alpha', $1, 2, now(), 1, n, 200, '', null from generate_series(1, 130) n`,
      [endpoints[0]],
    );
    const data = dataOf(await call(service, 'GET', `${DELIVERIES}/${endpoints[0]}-2`));
    const numbers = (data['attempts'] as { attempt: number }[]).map(({ attempt }) => attempt);
    assert.deepEqual([numbers.length, numbers[0], numbers.at(-1)], [100, 31, 130]);
  });

  test("another client's delivery looks like an unknown one", async () => {
    const { token } = service.beta;
    const [existing, missing] = [
      await call(service, 'GET', `${DELIVERIES}/${endpoints[0]}-3`, { token }),
      await call(service, 'GET', `${DELIVERIES}/${endpoints[0]}-999`, { token }),
    ];
    assertError(existing, 'DELIVERY_NOT_FOUND');
    assert.equal(existing.text, missing.text);
    assert.deepEqual((dataOf(await call(service, 'GET', DELIVERIES, { token })) as unknown as Page).deliveries, []);
  });
});
