import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, test } from 'node:test';
import { createRandom } from '../contract/random.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { walk } from './list-requests.ts';

/**
 * docs/contract.md 4.5: pages neither repeat nor skip a transaction, while others are inserted and these change.
 * LIST_ROWS=100000 LIST_CHANGES_PER_SECOND=200 is the full form; FC_SEED repeats its random numbers.
 */

const ROWS = Number(process.env['LIST_ROWS'] ?? 1_500);
/** Undefined: as fast as the feed takes them, so that a short run has many. */
const CHANGES_PER_SECOND = process.env['LIST_CHANGES_PER_SECOND'];
const SEED = Number(process.env['FC_SEED'] ?? randomInt(2 ** 31));
const FEED_LINES = 500;

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

const idOf = (number: number): string => `TB${String(number).padStart(10, '0')}`;
const BASE_MS = Date.parse('2026-11-01T00:00:00Z');

async function feed(updates: readonly Record<string, unknown>[]): Promise<void> {
  const { status, text } = await service.feed(`${updates.map((each) => JSON.stringify(each)).join('\n')}\n`);
  assert.equal(status, 200, text);
}

const created = (number: number, createdMs: number): Record<string, unknown> =>
  statusUpdate({
    transaction_id: idOf(number),
    reference_id: `reference ${number}`,
    created_at: new Date(createdMs).toISOString(),
  });

test(`${ROWS} transactions are each listed once, while others are inserted and these change`, async (t) => {
  t.diagnostic(`FC_SEED=${SEED}`);
  const random = createRandom(SEED);
  // Three have the same time.
  const timeOf = (number: number): number => BASE_MS + Math.floor(number / 3) * 1_000;
  for (let from = 0; from < ROWS; from += FEED_LINES) {
    const numbers = Array.from({ length: Math.min(FEED_LINES, ROWS - from) }, (_, index) => from + index);
    await feed(numbers.map((number) => created(number, timeOf(number))));
  }

  const walked = new AbortController();
  let inserted = 0;
  const changed = new Set<number>();
  /** Inserts transactions at random times, also between two that are listed, and ends as many existing ones. */
  async function change(count: number): Promise<void> {
    const updates = Array.from({ length: count }, () => {
      const next = ROWS + inserted;
      inserted += 1;
      const number = Math.floor(random() * ROWS);
      changed.add(number);
      return [
        created(next, BASE_MS + Math.floor(random() * ROWS * 400)),
        { client_id: 'alpha', transaction_id: idOf(number), status: 'SUCCESS' },
      ];
    });
    await feed(updates.flat());
  }
  async function changeWhileWalking(): Promise<void> {
    const startedMs = performance.now();
    const isDue = (): number => ((performance.now() - startedMs) / 1_000) * (Number(CHANGES_PER_SECOND) / 2) - inserted;
    while (!walked.signal.aborted) {
      if (CHANGES_PER_SECOND !== undefined) {
        await eventually('the next change is due', () => isDue() >= 1 || walked.signal.aborted);
      }
      await change(CHANGES_PER_SECOND === undefined ? 1 : Math.max(1, Math.floor(isDue())));
    }
  }
  const changing = changeWhileWalking();
  const startedMs = performance.now();
  const pages = { count: 0 };
  const onPage = async (): Promise<void> => void (pages.count += 1);
  const listed = await walk(service, { limit: ROWS > 10_000 ? '200' : '20' }, { onPage });
  walked.abort();
  await changing;

  const seconds = (performance.now() - startedMs) / 1_000;
  t.diagnostic(`${pages.count} pages in ${seconds.toFixed(1)} s; ${inserted} inserted, ${changed.size} changed`);
  assert.ok(inserted > 5, 'nothing changed meanwhile');
  const times = new Map<string, number>();
  for (const { transaction_id: id } of listed) times.set(id, (times.get(id) ?? 0) + 1);
  const wrong = Array.from({ length: ROWS }, (_, number) => idOf(number)).filter((id) => times.get(id) !== 1);
  assert.deepEqual(wrong, []);
  assert.deepEqual(
    [...times].filter(([, count]) => count !== 1),
    [],
  );
});
