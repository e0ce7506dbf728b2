import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { after, before, type TestContext, test } from 'node:test';
import pino from 'pino';
import { HOUR_MS, startHourlyCounts } from '../../apps/server/src/bank-availability/hourly-counts.ts';
import { changeBankAvailability } from '../../apps/server/src/postgres/bank-availability.ts';
import { addBankHours, type BankHourBatch, deleteBankHistory } from '../../apps/server/src/postgres/bank-hours.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import type { InquiryOutcome, Rail } from '../../apps/server/src/rails/rail.ts';
import { openSql } from '../callbacks/endpoints-harness.ts';
import { assertError, assertSuccess } from '../contract/assertions.ts';
import { createRandom } from '../contract/random.ts';
import { eventually } from '../support/eventually.ts';
import {
  type Answer,
  send,
  startTestService,
  type TestClient,
  type TestService,
  testBanks,
} from '../support/service.ts';

/** How banks answered, hour by hour, over all processes. */

const ACTIVE: InquiryOutcome = {
  kind: 'verdict',
  verdict: { status: 'ACTIVE', accountName: 'BUDI SANTOSO' },
  railCode: '2001500',
};
const without = (reason: 'invalid_response' | 'rejected_by_bank'): InquiryOutcome => ({
  kind: 'no_verdict',
  reason,
  railCode: null,
});

let outcome: InquiryOutcome = ACTIVE;
const rail: Rail = {
  name: 'bank-one',
  reaches: () => true,
  inquireAccount: () => Promise.resolve(outcome),
  close: () => Promise.resolve(),
};

const TIMES = { bankAvailability: { intervalMs: 1_000, stableMs: 60_000, storeIntervalMs: 20 } };

let service: TestService;
let viewer: TestClient;
let sql: Awaited<ReturnType<typeof openSql>>;
before(async () => {
  service = await startTestService({ rails: [rail], ...TIMES });
  viewer = await service.addClient('viewer', ['operator:read']);
  sql = await openSql(service);
});
after(async () => {
  await sql?.end();
  await service?.close();
});

interface Period {
  readonly inquiries: number;
  readonly answered: number;
  readonly answered_share: number | null;
  readonly not_sent: number;
  readonly minutes_down: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  readonly reasons: readonly { readonly reason: string; readonly times: number }[];
}

interface ReadBank {
  readonly bank_code: string;
  readonly total: Period;
  readonly hours: readonly (Period & { readonly hour: string })[];
}

const read = (query: string): Promise<Answer> =>
  send(`${service.operatorUrl}/operator/v1/banks/availability${query}`, {
    headers: { authorization: `Bearer ${viewer.token}` },
  });

const banksOf = async (query = ''): Promise<readonly ReadBank[]> =>
  assertSuccess(await read(query))['banks'] as readonly ReadBank[];

let accounts = 0;
async function check(at: TestService, next: InquiryOutcome, count: number): Promise<void> {
  outcome = next;
  for (let done = 0; done < count; done += 1) {
    accounts += 1;
    const body = { bank_code: 'BCA', account_number: String(1_000_000_000 + accounts * 7_919) };
    await send(`${at.url}/api/v1/check-account`, {
      method: 'POST',
      headers: { authorization: `Bearer ${at.alpha.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  }
}

test('inquiries of two processes are one count, also those that one has counted when it stops', async (context) => {
  const other = await startTestService({
    rails: [rail],
    database: service.database,
    bankAvailability: { ...TIMES.bankAvailability, storeIntervalMs: 60_000 },
  });
  context.after(() => other.close());
  await check(service, ACTIVE, 6);
  await check(service, without('invalid_response'), 1);
  await check(other, without('rejected_by_bank'), 1);
  await check(other, ACTIVE, 2);
  await other.close();
  let bca: ReadBank | undefined;
  await eventually('both have stored their counts', async () => {
    [bca] = await banksOf('?bank=BCA');
    return bca?.total.inquiries === 10;
  });
  const { total, hours } = bca ?? assert.fail();
  assert.equal(bca?.bank_code, '014');
  assert.deepEqual([total.inquiries, total.answered, total.not_sent, total.minutes_down], [10, 9, 0, 0]);
  assert.equal(total.answered_share, 0.9);
  assert.deepEqual(total.reasons, [
    { reason: 'invalid_response', times: 1 },
    { reason: 'rejected_by_bank', times: 1 },
  ]);
  assert.ok((total.p50_ms ?? -1) >= 0 && (total.p95_ms ?? -1) >= (total.p50_ms ?? 0));
  // The test may run over the end of an hour.
  assert.ok(hours.length <= 2);
  assert.match(hours[0]?.hour ?? '', /:00:00\.000Z$/);
  assert.deepEqual(await banksOf('?bank=BRI&days=90'), []);
});

test('a time in which a bank was DOWN counts for its hours, once for all processes', async () => {
  const { database } = service.app;
  const changes = [
    { status: 'DOWN', ageMs: 2.5 * HOUR_MS },
    { status: 'UP', ageMs: 1.25 * HOUR_MS },
    { status: 'DOWN', ageMs: 600_000 },
  ] as const;
  for (const change of changes) {
    // Of several processes that see it, the first one records it.
    assert.equal(await changeBankAvailability(database, { bic: 'BRINIDJA', ...change }), true);
    assert.equal(await changeBankAvailability(database, { bic: 'BRINIDJA', ...change }), false);
    await sql("update tiba.bank_availability set notified_up_to_client_id = null where bic = 'BRINIDJA'");
  }
  const [bri] = await banksOf('?bank=BRINIDJA');
  const { total, hours } = bri ?? assert.fail();
  const minutes = hours.map(({ minutes_down: down }) => down);
  assert.ok(Math.abs(total.minutes_down - 85) < 2, `${total.minutes_down}`);
  assert.ok(Math.abs(minutes.reduce((sum, each) => sum + each, 0) - total.minutes_down) < 0.5);
  assert.ok(Math.max(...minutes) <= 60 && hours.length >= 2 && hours.length <= 5);
  assert.deepEqual([total.inquiries, total.answered_share, total.p50_ms], [0, null, null]);
});

test('durations come back as the percentiles that they are, to a fifth', async () => {
  const counts = { hourMs: Math.floor(Date.now() / HOUR_MS) * HOUR_MS, bic: 'BNINIDJA', outcome: 'verdict' };
  const durations = Array.from({ length: 41 }, () => 0);
  // 90 took 128 ms or a little less, 10 took 2 s.
  [durations[20], durations[36]] = [90, 10];
  await addBankHours(service.app.database, {
    processId: randomUUID(),
    batch: 1,
    counts: [{ ...counts, count: 100, durations }],
  });
  const [bni] = await banksOf('?bank=009');
  const { p50_ms: p50 = null, p95_ms: p95 = null } = bni?.total ?? {};
  assert.ok(p50 !== null && p50 > 128 * 0.84 && p50 <= 128, `p50 ${p50}`);
  assert.ok(p95 !== null && p95 > 2_048 * 0.84 && p95 <= 2_048, `p95 ${p95}`);
});

test('parameters: the week of all banks, 90 days of one, and nothing else', async () => {
  for (const query of ['?days=0', '?days=91&bank=BCA', '?days=x', '?hours=3', '?days=1&days=2']) {
    assertError(await read(query), 'INVALID_REQUEST');
  }
  assertError(await read('?days=8'), 'INVALID_REQUEST', /days must be at most 7 for all banks; .*bank=BCA/);
  assertError(await read('?bank=NOBANK'), 'INVALID_BANK_CODE');
  assert.deepEqual((await banksOf('?days=7')).map(({ bank_code: code }) => code).toSorted(), ['002', '009', '014']);
  assert.equal((await banksOf('?days=90&bank=BCA')).length, 1);
});

test('a batch counts once, however often and in whatever order processes send it', async () => {
  const seed = Number(process.env['FC_SEED'] ?? randomInt(2 ** 31));
  const random = createRandom(seed);
  const upTo = (max: number): number => Math.floor(random() * max);
  const hourMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 2 * HOUR_MS;
  const expected = new Map<string, { count: number; durations: number[] }>();
  const inRound = async (round: number, processId: string): Promise<void> => {
    const bics = ['BMRIIDJA', 'BDINIDJA', 'BNIAIDJA'].filter(() => random() < 0.7);
    const counts = bics.map((bic) => {
      const durations = random() < 0.5 ? [] : Array.from({ length: 41 }, () => upTo(5));
      return {
        hourMs,
        bic,
        outcome: durations.length === 0 ? 'unreachable' : 'verdict',
        count: 1 + upTo(9),
        durations,
      };
    });
    for (const { bic, outcome: ended, count, durations } of counts) {
      const key = `${bic} ${ended}`;
      const before = expected.get(key) ?? { count: 0, durations: [] };
      const added = durations.map((one, bucket) => one + (before.durations[bucket] ?? 0));
      expected.set(key, { count: before.count + count, durations: added });
    }
    const batch: BankHourBatch = { processId, batch: round, counts };
    const sendings = Array.from({ length: 1 + upTo(3) }, () => addBankHours(service.app.database, batch));
    await Promise.all(sendings);
  };
  const processIds = [randomUUID(), randomUUID(), randomUUID()];
  for (let round = 1; round <= 12; round += 1) await Promise.all(processIds.map((each) => inRound(round, each)));
  const rows = await sql(
    `select bic || ' ' || outcome as key, inquiries::int as count, durations::int[] as durations
       from tiba.bank_hours where hour = $1`,
    [new Date(hourMs)],
  );
  const stored = new Map(rows.map(({ key, ...counts }) => [key, counts]));
  assert.deepEqual(stored, expected, `FC_SEED=${seed}`);
});

async function startCounting(context: TestContext): Promise<{ child: ChildProcess; counted: () => number }> {
  const { connectionString = '' } = service.database.connection;
  const child = fork(new URL('counting-process.ts', import.meta.url), [connectionString]);
  context.after(() => child.kill('SIGKILL'));
  let counted = 0;
  child.on('message', (number) => {
    counted = Number(number);
  });
  await once(child, 'message');
  return { child, counted: () => counted };
}

test('a process that is killed loses what it counted last, and nothing that it stored', async (context) => {
  const [bank] = testBanks.list();
  const stored = async (): Promise<number> => {
    const [row] = await sql('select coalesce(sum(inquiries), 0)::int as sum from tiba.bank_hours where bic = $1', [
      bank?.bic,
    ]);
    return Number(row?.['sum']);
  };
  const alreadyStored = await stored();
  const { child, counted } = await startCounting(context);
  await eventually('some are stored', async () => (await stored()) > alreadyStored);
  const atLeast = await stored();
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
  const finallyStored = await stored();
  // The parent may not have read the last messages.
  const added = finallyStored - alreadyStored;
  assert.ok(finallyStored >= atLeast && added <= counted() + 1_000, `${added} of ${counted()}`);
});

/** Counts one inquiry, and none again. */
function oneInquiry(): Pick<Parameters<typeof startHourlyCounts>[0], 'processId' | 'inquiries' | 'now' | 'intervalMs'> {
  const [bank] = testBanks.list();
  assert.ok(bank !== undefined);
  const counted = [{ bank, outcome: 'verdict' as const, count: 1, durations: [1] }];
  return {
    processId: randomUUID(),
    inquiries: { takeCounts: () => counted.splice(0) },
    now: Date.now,
    intervalMs: 60_000,
  };
}

test('a stop while PostgreSQL is down gives up, and says in one warning what is lost', async (context) => {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
  const connection = { connectionString: 'postgres://127.0.0.1:1/away' };
  const database = openDatabase({ connection, connectionsMax: 1, log });
  context.after(() => database.close());
  await startHourlyCounts({ ...oneInquiry(), database, log, giveUpAfterMs: 100 }).close();
  const written = lines.map((line) => JSON.parse(line) as { readonly level: number; readonly msg: string });
  assert.ok(written.every(({ level }) => level === 40));
  assert.equal(written.filter(({ msg }) => msg.includes('lost at shutdown')).length, 1);
});

test('counts are deleted after their time, and what a bank was before them stays known', async () => {
  const { database } = service.app;
  const hourMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 100 * 24 * HOUR_MS;
  const old = [0, 1, 2].map((hours) => ({
    hourMs: hourMs + hours * HOUR_MS,
    bic: 'MEGAIDJA',
    outcome: 'verdict',
    count: 1,
    durations: [],
  }));
  await addBankHours(database, { processId: randomUUID(), batch: 1, counts: old });
  await sql(
    `insert into tiba.bank_status_changes (bic, since, status)
     select 'MEGAIDJA', now() - days * interval '1 day', status
       from (values (120, 'DOWN'), (110, 'UP'), (100, 'DOWN'), (1, 'UP')) as changes (days, status)`,
  );
  const ninetyDaysAgo = new Date(Date.now() - 90 * 24 * HOUR_MS);
  const sizes: number[] = [];
  for (let size = 1; size > 0; ) sizes.push((size = await deleteBankHistory(database, ninetyDaysAgo, 2)));
  assert.deepEqual(sizes, [4, 1, 0]);
  const [mega] = await banksOf('?bank=MEGAIDJA&days=90');
  // It was DOWN in the range until yesterday, which the change of 100 days ago says.
  assert.ok(Math.abs((mega?.total.minutes_down ?? 0) - 89 * 24 * 60) < 61, `${mega?.total.minutes_down}`);
});
