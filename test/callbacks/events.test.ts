import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { EVENT_KINDS } from '../../apps/server/src/domain/event.ts';
import { assertError } from '../contract/assertions.ts';
import { type Answer, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { call, dataOf, EVENTS, feedSuccesses } from './endpoints-harness.ts';

/** The list of events: in order and without gaps. */

interface ListedEvent {
  readonly sequence: number;
  readonly event_id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly version: number;
  readonly data: { readonly transaction_id: string; readonly status: string };
}
interface Page {
  readonly events: readonly ListedEvent[];
  readonly next_after: number;
  readonly has_more: boolean;
}

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

const requestEvents = (query: string, token?: string): Promise<Answer> =>
  call(service, 'GET', `${EVENTS}${query}`, token === undefined ? {} : { token });
const page = async (query: string, token?: string): Promise<Page> =>
  dataOf(await requestEvents(query, token)) as unknown as Page;

/** Adds a client for one test, so that its events start at 1. */
async function newClient(clientId: string): Promise<string> {
  return (await service.addClient(clientId, ['status:read', 'events:read'])).token;
}

test('an event has its kind and the transaction as a status check returned it, byte for byte', async () => {
  const token = await newClient('verbatim');
  // Of now: it must not become overdue before it ends, which is another version.
  const first = {
    client_id: 'verbatim',
    transaction_id: 'TV0000000001',
    reference_id: 'A "quoted" ü/1',
    created_at: new Date().toISOString(),
  };
  await service.feed([statusUpdate({ ...first, amount: '9007199254740993.01', fee: '0.10' })]);
  assert.deepEqual(await page('', token), { events: [], next_after: 0, has_more: false });
  await service.feed([statusUpdate({ ...first, amount: '9007199254740993.01', fee: '0.10', status: 'SUCCESS' })]);

  const answer = await requestEvents('', token);
  const { events, ...rest } = dataOf(answer) as unknown as Page;
  assert.deepEqual(rest, { next_after: 1, has_more: false });
  const [event] = events;
  assert.deepEqual(Object.keys(event ?? {}), ['sequence', 'event_id', 'type', 'timestamp', 'version', 'data']);
  assert.deepEqual([event?.sequence, event?.version, event?.type], [1, 2, 'disbursement.succeeded']);
  assert.equal(event?.event_id, 'evt_TV0000000001_2');
  assert.match(event?.timestamp ?? '', /Z$/);
  const status = await service.get('/api/v1/check-status/TV0000000001', { token });
  const data = /"data":(\{.*\}),"meta"/.exec(status.text)?.[1] ?? assert.fail(status.text);
  assert.ok(data.includes('"amount":9007199254740993.01,"fee":0.10,"total_amount":9007199254740993.11'));
  assert.ok(answer.text.includes(`"version":2,"data":${data}}`), answer.text);
});

test('each page continues the previous one, and polling after the last page returns new events', async () => {
  const token = await newClient('paged');
  const ids = await feedSuccesses(service, 25, { client_id: 'paged' });
  const seen: ListedEvent[] = [];
  let last: Page = { events: [], next_after: 0, has_more: true };
  while (last.has_more) {
    last = await page(`?after=${last.next_after}&limit=10`, token);
    seen.push(...last.events);
  }
  assert.deepEqual(
    seen.map(({ sequence }) => sequence),
    Array.from({ length: 25 }, (_, index) => index + 1),
  );
  assert.deepEqual(
    seen.map(({ data }) => data.transaction_id),
    ids,
  );
  assert.deepEqual(await page('?after=25', token), { events: [], next_after: 25, has_more: false });
  await feedSuccesses(service, 1, { client_id: 'paged' });
  assert.equal((await page('?after=25', token)).next_after, 26);
  // Exactly as many as the limit, and none after them.
  assert.equal((await page('?after=16&limit=10', token)).has_more, false);
});

test('a page has 100 events by default and up to 1000', async () => {
  const token = await newClient('many');
  await feedSuccesses(service, 1_100, { client_id: 'many' });
  assert.equal((await page('', token)).events.length, 100);
  const { events, has_more: hasMore } = await page('?limit=1000', token);
  assert.deepEqual([events.length, hasMore], [1_000, true]);
});

test('a cursor beyond the newest event is from a time that was lost: 410, and the address to continue from', async () => {
  const token = await newClient('ahead');
  const gone = async (after: number, last: number): Promise<void> => {
    const answer = await requestEvents(`?after=${after}`, token);
    // A number that is only mistyped was never read: the answer does not say that a backup was restored.
    const lost = new RegExp(`the last one is ${last}\\. If you have read later ones, they were lost when`);
    assertError(answer, 'CURSOR_GONE', lost);
    assert.equal(answer.headers.get('link'), `</api/v1/events?after=${last}>; rel="next"`);
    // It may be an account number in the wrong place, and errors never repeat what they were given.
    assert.ok(after <= 4 || !answer.text.includes(String(after)), answer.text);
  };
  await gone(1, 0);
  await feedSuccesses(service, 3, { client_id: 'ahead' });
  await gone(4, 3);
  await gone(999_999_999_999_999, 3);
  assert.deepEqual(await page('?after=3', token), { events: [], next_after: 3, has_more: false });
});

test('a reader that follows next_after misses no event while many feeds write at once', async () => {
  const token = await newClient('busy');
  const FEEDS = 8;
  const ROUNDS = 12;
  const EACH = 5;
  let writing = true;
  const writers = Promise.all(
    Array.from({ length: FEEDS }, async () => {
      for (let round = 0; round < ROUNDS; round += 1) await feedSuccesses(service, EACH, { client_id: 'busy' });
    }),
  ).finally(() => {
    writing = false;
  });

  const seen: ListedEvent[] = [];
  let after = 0;
  let pages = 0;
  for (;;) {
    const wasWriting = writing;
    const { events, next_after: next } = await page(`?after=${after}&limit=50`, token);
    seen.push(...events);
    after = next;
    if (events.length > 0) pages += 1;
    else if (!wasWriting) break;
  }
  await writers;
  const total = FEEDS * ROUNDS * EACH;
  assert.ok(pages > total / 50, 'the reader reads while the feeds write');
  assert.deepEqual(
    seen.map(({ sequence }) => sequence),
    Array.from({ length: total }, (_, index) => index + 1),
  );
  assert.equal(new Set(seen.map((event) => event.event_id)).size, total);
});

test('events are numbered for each client, and only that client can read them', async () => {
  const [one, other] = [await newClient('one'), await newClient('other')];
  const [ofOne] = await feedSuccesses(service, 1, { client_id: 'one' });
  const [ofOther] = await feedSuccesses(service, 1, { client_id: 'other' });
  for (const [token, id] of [
    [one, ofOne],
    [other, ofOther],
  ] as const) {
    const { events } = await page('', token);
    assert.deepEqual(
      events.map(({ sequence, data }) => [sequence, data.transaction_id]),
      [[1, id]],
    );
  }
});

test('each kind of event has the version that it created', async () => {
  const token = await newClient('kinds');
  const id = 'TK0000000001';
  const fields = { client_id: 'kinds', transaction_id: id, reference_id: id };
  await service.feed([statusUpdate({ ...fields, created_at: '2020-01-01T00:00:00Z' })]);
  await service.app.transactionUpdater.markOverdue(new Date(), 100);
  await service.feed([statusUpdate({ ...fields, created_at: '2020-01-01T00:00:00Z', status: 'SUCCESS' })]);
  await service.feed([
    statusUpdate({
      ...fields,
      created_at: '2020-01-01T00:00:00Z',
      status: 'SUCCESS',
      reversed_at: '2026-11-22T00:00:00Z',
    }),
  ]);
  const { events } = await page('', token);
  assert.deepEqual(
    events.map(({ type, version, data }) => [type, version, data.status]),
    [
      ['disbursement.overdue', 2, 'PROCESS'],
      ['disbursement.succeeded', 3, 'SUCCESS'],
      ['disbursement.reversed', 4, 'SUCCESS'],
    ],
  );
});

test('PostgreSQL knows each kind of event', async () => {
  const sql = 'select enum_range(null::tiba.event_kind)::text[] as kinds';
  assert.deepEqual(await service.app.database.query(sql), [{ kinds: [...EVENT_KINDS] }]);
});
