import assert from 'node:assert/strict';
import { after, before, mock, test } from 'node:test';
import { answerStatus, referenceOf, type ScriptedBank, startScriptedBank } from '../rails/scripted-bank.ts';
import { eventually } from '../support/eventually.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';

/** The clock of the service's process is a day ahead; PostgreSQL's is right. */

const DAY_MS = 24 * 3_600_000;
const [DUE, LATER] = ['TC0000000001', 'TC0000000002'];

let bank: ScriptedBank;
let service: TestService;
before(async () => {
  mock.timers.enable({ apis: ['Date'], now: Date.now() + DAY_MS });
  bank = await startScriptedBank({ status: answerStatus('03') });
  service = await startTestService({ rails: [bank.rail(rsaKeys())] });
});
after(async () => {
  mock.timers.reset();
  await service?.close();
  await bank?.close();
});

async function feed(ids: readonly string[], createdAt: Date): Promise<void> {
  const updates = ids.map((id) =>
    statusUpdate({
      transaction_id: id,
      reference_id: id,
      created_at: createdAt.toISOString(),
      rail: 'scripted-bank',
      rail_reference: id,
    }),
  );
  assert.equal((await service.feed(updates)).json.data?.['inserted'], ids.length);
}

/** In how many seconds the next inquiry about each transaction is due, on PostgreSQL's clock. */
async function dueInSeconds(): Promise<Record<string, number>> {
  const rows = await service.app.database.query<{ transaction_id: string; seconds: number }>(
    `select transaction_id, extract(epoch from next_at - now())::float8 as seconds
       from tiba.status_inquiries where transaction_id = any ($1)`,
    [[DUE, LATER]],
  );
  return Object.fromEntries(rows.map((row) => [row.transaction_id, row.seconds]));
}

const inquiredAbout = (): ReadonlySet<string> => new Set(bank.statusInquiries.map(referenceOf));

// A clock one day ahead postponed status inquiries by a day, and one 30 s ahead took over those of all processes.
test('a process whose clock is a day ahead makes status inquiries when they are due, and not earlier', async () => {
  await feed([DUE, LATER], new Date());
  const { [DUE]: firstSeconds = NaN } = await dueInSeconds();
  assert.ok(firstSeconds <= 5, `the first inquiry is due in ${firstSeconds} s`);

  await service.app.database.query(
    `update tiba.status_inquiries set next_at = now() + case when transaction_id = $1 then '0' else '1 hour' end::interval`,
    [DUE],
  );
  await eventually('the inquiry that is due', () => inquiredAbout().has(DUE));
  await eventually('the next inquiry to be scheduled', async () => {
    const [row] = await service.app.database.query<{ claimed: boolean }>(
      'select claimed_until is not null as claimed from tiba.status_inquiries where transaction_id = $1',
      [DUE],
    );
    return row?.claimed === false;
  });
  const { [DUE]: nextSeconds = NaN } = await dueInSeconds();
  assert.ok(nextSeconds <= 10, `the next inquiry is due in ${nextSeconds} s`);
  // One poll claims everything that is due at a rail, so this one was not due.
  assert.ok(!inquiredAbout().has(LATER));
});

// The sweep used the clock of its process, and clients were told that their disbursements were overdue.
test('a process whose clock is a day ahead marks only transactions overdue that are', async () => {
  const [overdue, current] = ['TC0000000003', 'TC0000000004'];
  await feed([current], new Date(Date.now() - DAY_MS));
  await feed([overdue], new Date(Date.now() - 2 * DAY_MS));
  const overdueIds = async (): Promise<readonly string[]> =>
    (
      await service.app.database.query<{ transaction_id: string }>(
        'select transaction_id from tiba.transactions where overdue_since is not null',
      )
    ).map((row) => row.transaction_id);
  await eventually('the transaction to be marked overdue', async () => (await overdueIds()).includes(overdue));
  assert.deepEqual(await overdueIds(), [overdue]);
});
