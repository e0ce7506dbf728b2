import assert from 'node:assert/strict';
import { after, afterEach, suite, test } from 'node:test';
import { statusUpdate } from '../support/requests.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { cannotInjectDiskFaults, injectIntoSyncs, mountSmallDisk } from './disk-faults.ts';
import {
  assertOkOrUnavailable,
  assertRecovers,
  assertUnavailable,
  requestContinuously,
  type TimedAnswer,
  timeRequest,
  until,
} from './request-monitor.ts';
import { startServiceOnPostgres } from './service-on-postgres.ts';

/** PostgreSQL with its data and its write-ahead log on a disk that fails. */

const DISK_MEBIBYTES = 192;
const SYNC_DELAY_MS = 300;

const skip = cannotInjectDiskFaults();

suite('a disk that fails under PostgreSQL', { skip }, async () => {
  const disk = mountSmallDisk(DISK_MEBIBYTES);
  const { server, service, checkStatus, feedTransaction } = await startServiceOnPostgres({
    postgres: { durable: true, parentDirectory: disk.directory, settings: { max_wal_size: '64MB' } },
  }).finally(() => after(disk.remove));
  afterEach(async () => {
    disk.free();
    await server.start();
    await assertRecovers(checkStatus);
    await assertRecovers(() => service.feed(''));
    await assertAllStored();
  });

  /** Transactions whose feed got 200. */
  const acknowledged = new Set<string>();
  let ids = 0;
  const nextId = (): string => `TK${String((ids += 1)).padStart(10, '0')}`;

  async function feedNext(id = nextId()): Promise<TimedAnswer> {
    const timed = await timeRequest(() => feedTransaction(id));
    if (timed.answer.status === 200) acknowledged.add(id);
    return timed;
  }

  async function assertAllStored(): Promise<void> {
    const rows = await server.query<{ transaction_id: string }>(
      'select transaction_id from tiba.transactions where transaction_id = any ($1)',
      [[...acknowledged]],
    );
    const stored = new Set(rows.map((row) => row.transaction_id));
    assert.deepEqual(
      [...acknowledged].filter((id) => !stored.has(id)),
      [],
      'acknowledged, and not stored',
    );
  }

  test('an I/O error at a commit: the feed gets 503, and feeding again after the recovery stores it once', async () => {
    const [, ...connections] = await server.processIds();
    const fault = await injectIntoSyncs(connections, 'error=EIO');
    let id = '';
    try {
      await until('a feed fails', async () => {
        id = nextId();
        const timed = await feedNext(id);
        if (timed.answer.status !== 200) assertUnavailable(timed);
        return timed.answer.status === 503;
      });
    } finally {
      await fault.stop();
    }
    await until('PostgreSQL has recovered', async () => (await checkStatus()).status === 200, timeLimitMs(10_000));
    await assertRecovers(() => feedTransaction(id));
    const [count] = await server.query<{ count: number }>(
      'select count(*)::int as count from tiba.transactions where transaction_id = $1',
      [id],
    );
    assert.equal(count?.count, 1);
  });

  test('slow commits: look-ups do not wait for them, and feeds are stored or get 503', async (t) => {
    const fault = await injectIntoSyncs(await server.processIds(), `delay_enter=${SYNC_DELAY_MS * 1000}`);
    try {
      const lookUps = requestContinuously(t, checkStatus, 2);
      const feeds = await Promise.all(Array.from({ length: 40 }, () => feedNext()));
      const { unavailable } = assertOkOrUnavailable(feeds);
      assert.ok(unavailable < feeds.length, 'no feed was stored');
      assert.ok(Math.max(...feeds.map(({ tookMs }) => tookMs)) >= SYNC_DELAY_MS, 'no commit was slow');
      const answers = await lookUps.stop();
      assert.equal(assertOkOrUnavailable(answers).unavailable, 0);
      const slowest = Math.max(...answers.map(({ tookMs }) => tookMs));
      assert.ok(slowest < timeLimitMs(SYNC_DELAY_MS), `a look-up took ${Math.round(slowest)} ms`);
    } finally {
      await fault.stop();
    }
  });

  test('a full disk: feeds get 503, look-ups are answered, and feeds work again when there is space', async () => {
    disk.fill();
    const description = 'x'.repeat(500);
    await until(
      'a feed fails',
      async () => {
        const ids = Array.from({ length: 200 }, nextId);
        const lines = ids.map((id) =>
          JSON.stringify(statusUpdate({ transaction_id: id, reference_id: id, description })),
        );
        const timed = await timeRequest(() => service.feed(lines.join('\n')));
        if (timed.answer.status !== 200) assertUnavailable(timed);
        else assert.equal(timed.answer.json.data?.['inserted'], ids.length, timed.answer.text);
        if (timed.answer.status === 200) for (const id of ids) acknowledged.add(id);
        return timed.answer.status === 503;
      },
      timeLimitMs(10_000),
    );
    assert.equal((await checkStatus()).status, 200);
    disk.free();
    await server.start();
    await assertRecovers(() => feedTransaction(nextId()));
  });
});
