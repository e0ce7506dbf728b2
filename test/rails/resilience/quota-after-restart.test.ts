import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startDailyInquiries } from '../../../apps/server/src/postgres/daily-inquiries.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { send, startTestService, type TestService } from '../../support/service.ts';
import { NOT_FOUND, scriptedRail } from './scripted-rail.ts';

const limitsByRail = new Map([['only', { perSecond: null, perDay: 10, concurrencyMax: null, isShared: true }]]);
const start = (database: TestDatabase): Promise<TestService> =>
  startTestService({ database, rails: [scriptedRail('only', () => NOT_FOUND)], inquiries: { limitsByRail } });

async function quotaLeft({ operatorUrl, addClient }: TestService): Promise<unknown> {
  const { token } = await addClient(`operator-${(operators += 1)}`, ['operator:read']);
  const headers = { authorization: `Bearer ${token}` };
  const { json } = await send(`${operatorUrl}/operator/v1/rails`, { headers });
  const { rails } = json.data as { rails: { quota_left: unknown }[] };
  return rails[0]?.quota_left;
}

let operators = 0;
let accounts = 1_000_000;
const check = async ({ checkAccount }: TestService): Promise<number> =>
  (await checkAccount({ bank_code: 'BRI', account_number: String((accounts += 1)) })).status;

/** Without Valkey: what all processes have sent is in PostgreSQL. */
test('a restarted service continues with the remainder of the daily quota', async (context) => {
  const database = await createTestDatabase();
  const first = await start(database);
  for (let time = 0; time < 7; time += 1) assert.equal(await check(first), 200);
  await first.close();
  const second = await start(database);
  context.after(async () => {
    await second.close();
    await database.drop();
  });
  assert.deepEqual(await quotaLeft(second), { second: null, day: 3 });
});

/** Regression: a restart counted the inquiries of all processes against one share, and the quota became negative. */
test('several processes share one daily quota, and what is left is never negative', async (context) => {
  const database = await createTestDatabase();
  const services = [await start(database), await start(database)];
  context.after(async () => {
    for (const service of services) await service.close();
    await database.drop();
  });
  const [one, two] = services as [TestService, TestService];
  // A process knows of another one after its next heartbeat.
  await eventually('both know of each other', async () =>
    (await Promise.all(services.map(({ operatorUrl }) => send(`${operatorUrl}/metrics`, {})))).every(({ text }) =>
      text.includes('tiba_live_processes 2'),
    ),
  );
  const statuses = await Promise.all(Array.from({ length: 10 }, () => check(one)));
  let sent = statuses.filter((status) => status === 200).length;
  // Its share is 5. It takes a share of the rest when a second has passed meanwhile, on a busy machine.
  assert.ok(sent >= 5 && sent < 10, `one process alone sent ${sent}`);
  const left = JSON.stringify({ second: null, day: 10 - sent });
  await eventually('the other knows', async () => JSON.stringify(await quotaLeft(two)) === left);
  await eventually('the day is used up', async () => {
    for (const service of services) if ((await check(service)) === 200) sent += 1;
    return JSON.stringify(await quotaLeft(two)) === '{"second":null,"day":0}';
  });
  // Each has a share of what all had left up to a second ago. Without it they would send 20.
  assert.ok(sent >= 10 && sent <= 13, `${sent} were sent`);
  await one.app.database.query('update tiba.daily_inquiries set sent = 25');
  const third = await start(database);
  services.push(third);
  assert.deepEqual(await quotaLeft(third), { second: null, day: 0 });
  assert.equal(await check(third), 503);
});

test("counts of a day are kept for a week of PostgreSQL's clock, and longer while paused", async (context) => {
  const service = await startTestService({ rails: [] });
  context.after(service.close);
  const { database } = service.app;
  const { log } = { log: { warn: () => assert.fail('warned') } };
  const today = Math.floor((Date.now() / 3_600_000 + 7) / 24);
  const insertOld = (): Promise<unknown> =>
    database.query(`insert into tiba.daily_inquiries (rail, day, sent) values ('a', $1, 1)`, [today - 9]);
  const stored = (): Promise<unknown[]> =>
    database.query('select day, sent::int as sent from tiba.daily_inquiries order by day');
  // The clock of the process is years ahead; PostgreSQL's counts.
  let dayNow = today + 1_000;
  const wallClock = (): number => dayNow * 24 * 60 * 60 * 1_000;
  const start = (paused: boolean): ReturnType<typeof startDailyInquiries> =>
    startDailyInquiries({ database, liveProcesses: () => 1, wallClock, paused, log: log as never });
  await database.query(`insert into tiba.daily_inquiries (rail, day, sent) values ('a', $1, 2)`, [today - 5]);
  const kept = { day: today - 5, sent: 2 };
  await insertOld();
  await (await start(true)).close();
  assert.deepEqual(await stored(), [{ day: today - 9, sent: 1 }, kept]);
  const daily = await start(false);
  assert.deepEqual(await stored(), [kept]);
  await insertOld();
  dayNow += 1;
  await eventually('the next day deletes it', async () => (await stored()).length === 1);
  assert.deepEqual(await stored(), [kept]);
  await daily.close();
});
