import assert from 'node:assert/strict';
import { after, afterEach, before, mock, suite, test } from 'node:test';
import pino from 'pino';
import { createInTurn } from '../../apps/server/src/lib/in-turn.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { startRetention } from '../../apps/server/src/postgres/retention/retention.ts';
import { register } from '../callbacks/endpoints-harness.ts';
import { webhookId } from '../callbacks/webhook.ts';
import { eventually } from '../support/eventually.ts';
import { type HttpReceiver, type ReceivedRequest, startHttpReceiver } from '../support/http-receiver.ts';
import { logIn as logInAt } from '../support/serve.ts';
import {
  type Answer,
  send,
  startTestService,
  statusUpdate,
  type TestClient,
  type TestService,
} from '../support/service.ts';

/** The wall clock of the process jumps, and its monotonic clock does not. PostgreSQL's clock is right. */

const DAY_MS = 24 * 3_600_000;
const JUMPS = { '70 s ahead': 70_000, '70 s back': -70_000, 'a day ahead': DAY_MS, 'a day back': -DAY_MS };
const LIMIT = 5;
/** The libraries of Standard Webhooks refuse timestamps that are further away. */
const TOLERATED_SECONDS = 5 * 60;
/** The process knows PostgreSQL's time to within a round trip; the rest is for a busy machine. */
const STAMPED_WITHIN_MS = 30_000;

let service: TestService;
let receiver: HttpReceiver;
let monotonicMs = 1_000_000;
before(async () => {
  service = await startTestService({ rails: [], limitClock: () => monotonicMs, wallClock: () => Date.now() });
  receiver = await startHttpReceiver();
  await register(service, { url: `${receiver.url}/callbacks` });
});
after(() => receiver?.close());
after(() => service?.close());
afterEach(() => mock.timers.reset());

/** The time that a right clock shows, whatever `Date` says. */
const rightTimeMs = (): number => Math.round(performance.timeOrigin + performance.now());
const jump = (ms: number): void => mock.timers.enable({ apis: ['Date'], now: rightTimeMs() + ms });

/** After a jump by a day, tokens from before it are not valid, as after a day. */
const logIn = ({ clientId, clientSecret }: TestClient): Promise<string> => logInAt(service.url, clientId, clientSecret);

const skewSeconds = async (): Promise<number> => {
  const { text } = await send(`${service.operatorUrl}/metrics`, {});
  return Number(/^tiba_clock_skew_seconds (\S+)$/m.exec(text)?.[1]);
};

const untilClockIsRight = (): Promise<void> =>
  eventually('the process knows that its clock is right', async () => Math.abs(await skewSeconds()) < 1);

const callbacksAbout = (id: string): readonly ReceivedRequest[] =>
  receiver.requests.filter((request) => webhookId(request) === `evt_${id}_1`);

for (const [index, [name, jumpMs]] of Object.entries(JUMPS).entries()) {
  suite(`the clock of a process jumps ${name}`, () => {
    test('a limit neither opens early nor stays closed, and a new login works', async () => {
      const client = await service.addClient(`jump-${index}`, ['status:read'], { 'check-status': LIMIT });
      const checkStatus = (token: string): Promise<Answer> => service.get('/api/v1/check-status/NONE', { token });
      for (let count = 0; count < LIMIT; count += 1) assert.equal((await checkStatus(client.token)).status, 404);
      jump(jumpMs);
      const token = await logIn(client);
      const refused = await checkStatus(token);
      assert.equal(refused.status, 429, refused.text);
      assert.ok(Number(refused.headers.get('retry-after')) <= 60);
      monotonicMs += 60_001;
      assert.equal((await checkStatus(token)).status, 404, 'a minute later');
    });

    test('the process says so', async () => {
      jump(jumpMs);
      await eventually(
        'the process knows how wrong its clock is',
        async () => Math.abs((await skewSeconds()) - jumpMs / 1_000) < 10,
      );
    });

    /** Regression: until the next heartbeat, within 2 s, what it stamped was off by the whole jump. */
    test('a callback has a timestamp that its receiver accepts, and arrives once', async () => {
      await untilClockIsRight();
      jump(jumpMs);
      const id = `TJ000000000${index}`;
      const fed = await send(`${service.operatorUrl}/feed/v1/transactions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${await logIn(service.core)}` },
        body: JSON.stringify(statusUpdate({ transaction_id: id, reference_id: id, status: 'SUCCESS' })),
      });
      assert.equal(fed.json.data?.['inserted'], 1, fed.text);
      await eventually('the callback arrives', () => callbacksAbout(id).length > 0);
      const seconds = Number(callbacksAbout(id)[0]?.headers['webhook-timestamp']) - rightTimeMs() / 1_000;
      assert.ok(Math.abs(seconds) < TOLERATED_SECONDS, `the timestamp is ${Math.round(seconds)} s off`);
      // The feed did not say when.
      const stamps = await service.app.database.query<Record<'processed_at' | 'occurred_at', Date>>(
        `select t.processed_at, e.occurred_at
           from tiba.transactions t join tiba.events e on e.client_id = t.client_id and e.subject_id = t.transaction_id
          where t.transaction_id = $1`,
        [id],
      );
      for (const [name, at] of Object.entries(stamps[0] ?? assert.fail())) {
        const lateMs = rightTimeMs() - at.getTime();
        assert.ok(Math.abs(lateMs) < STAMPED_WITHIN_MS, `${name} is ${lateMs} ms off`);
      }
      for (let before = 0; before < index; before += 1) assert.equal(callbacksAbout(`TJ000000000${before}`).length, 1);
    });
  });
}

// A clock that was ahead deleted audit records early, and X-EXTERNAL-IDs, so that a request could be replayed.
test('a process whose clock is a year ahead deletes only what is old on the clock of PostgreSQL', async (context) => {
  const log = pino({ level: 'silent' });
  const database = openDatabase({ connection: service.database.connection, connectionsMax: 1, log });
  context.after(() => database.close());
  const befores: Date[] = [];
  mock.timers.enable({ apis: ['Date', 'setTimeout'], now: rightTimeMs() + 365 * DAY_MS });
  const retention = startRetention({
    database,
    records: 'test records',
    days: 1,
    async deleteBatch(before) {
      befores.push(before);
      return 0;
    },
    inTurn: createInTurn(),
    log,
  });
  context.after(retention.stop);
  mock.timers.tick(60_000);
  mock.timers.reset();
  await eventually('records are deleted', () => befores.length > 0);
  const daysAgo = (rightTimeMs() - (befores[0]?.getTime() ?? 0)) / DAY_MS;
  assert.ok(daysAgo > 0.99 && daysAgo < 1.01, `records of ${daysAgo} days ago`);
});
