import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createRandom } from '../contract/random.ts';
import { CLIENT_SCOPES } from '../support/requests.ts';
import { type Caller, createCaller, readDeliveries, readEvents, readStatus } from './caller.ts';
import { createConsistencyLog } from './consistency-log.ts';
import { createContext, type EndToEndContext } from './context.ts';
import {
  assertCallbacksMatchEvents,
  assertDeliveriesComplete,
  assertInOrder,
  assertSigned,
} from './deliveries-checks.ts';
import {
  bankAnswer,
  createDisbursements,
  type Disbursement,
  type FeedOptions,
  feedAll,
  RAIL,
} from './disbursements.ts';
import { killRepeatedly } from './killer.ts';

/**
 * Kills the service at random moments while disbursements reach their outcomes. KILLS and TRANSACTIONS make the run
 * longer than in the suite; FC_SEED repeats the moments, as far as timing can be repeated.
 */

const KILLS = Number(process.env['KILLS'] ?? 5);
const TRANSACTIONS = Number(process.env['TRANSACTIONS'] ?? 150);
const FEEDERS = 4;
const READERS = 2;
const PATHS = ['/one', '/two'];
const READ_CONCURRENCY = 50;
const POLL_MS = 10;
/** The claims of a killed process expire after 20 s. */
const SETTLE_TIMEOUT_MS = 90_000;

let context: EndToEndContext;
let client: Caller;
before(async () => {
  // No transaction becomes overdue, and every read starts a status inquiry.
  context = await createContext({ rails: [RAIL], overdueMinutes: 100_000, staleSeconds: 1 }, bankAnswer);
  client = await createCaller(context.service, context.database, 'client', CLIENT_SCOPES);
});
after(() => context?.close());

const consistencyLog = createConsistencyLog();

interface Endpoint {
  readonly path: string;
  readonly endpointId: string;
  readonly secret: string;
}

async function register(path: string): Promise<Endpoint> {
  const answer = await client.call('POST', '/api/v1/callback-endpoints', { url: context.receiver.url(path) });
  assert.equal(answer.status, 201, answer.text);
  const { endpoint_id: endpointId, secret } = answer.json.data as { endpoint_id: string; secret: string };
  return { path, endpointId, secret };
}

/** Reads acknowledged disbursements until the end: each exists and reports no less than was acknowledged. */
async function readUntil(ended: AbortSignal, disbursements: readonly Disbursement[], random: () => number) {
  while (!ended.aborted) {
    const chosen = disbursements[Math.floor(random() * disbursements.length)];
    if (chosen !== undefined && chosen.acknowledged !== 'nothing' && context.service.isRunning()) await read(chosen);
    else await delay(POLL_MS);
  }
}

async function read({ transactionId, acknowledged, outcome }: Disbursement): Promise<void> {
  const starts = context.service.starts();
  try {
    const { data, version } = await readStatus(client, transactionId);
    consistencyLog.record({ transactionId, version, data, by: 'GET' });
    if (acknowledged === 'its outcome') assert.match(data, new RegExp(`"status":"${outcome}"`));
  } catch (error) {
    // A response that a kill interrupted proves nothing. Any other must be correct.
    if (context.service.isRunning() && context.service.starts() === starts) throw error;
  }
}

async function assertEnded({ transactionId, outcome }: Disbursement): Promise<void> {
  const { data, version } = await readStatus(client, transactionId);
  consistencyLog.record({ transactionId, version, data, by: 'GET' });
  assert.match(data, new RegExp(`"status":"${outcome}"`));
  assert.equal(version, 2, `PROCESS, then ${outcome}`);
}

async function untilSettled(): Promise<void> {
  const deadlineMs = performance.now() + SETTLE_TIMEOUT_MS;
  for (;;) {
    const [left] = await context.database.query<{ open: number; pending: number }>(
      `select (select count(*) from tiba.transactions where status = 'PROCESS')::int as open,
              (select count(*) from tiba.callback_deliveries where state = 'pending')::int as pending`,
    );
    if (left?.open === 0 && left.pending === 0) return;
    assert.ok(performance.now() < deadlineMs, `still in PROCESS or pending: ${JSON.stringify(left)}`);
    await delay(20 * POLL_MS);
  }
}

async function feedWhileKilling(
  t: TestContext,
  disbursements: readonly Disbursement[],
): Promise<FeedOptions['counts']> {
  const seed = Number(process.env['FC_SEED'] ?? randomInt(2 ** 31));
  const over = new AbortController();
  const { signal } = over;
  const counts = { updates: 0, retries: 0 };
  const progress = { killed: 0 };
  /** Spreads the work over all processes of the service. */
  async function waitForTurn(fraction: number): Promise<void> {
    while (progress.killed < Math.min(fraction, 1) * KILLS) {
      signal.throwIfAborted();
      await delay(POLL_MS);
    }
  }

  const share = Math.ceil(disbursements.length / FEEDERS);
  const feeders = Array.from({ length: FEEDERS }, (_, feeder) => {
    const own = disbursements.slice(feeder * share, (feeder + 1) * share);
    return feedAll(own, { core: context.core, clientId: client.clientId, waitForTurn, counts, signal: signal });
  });
  const reading = Array.from({ length: READERS }, () => readUntil(signal, disbursements, createRandom(seed + 1)));
  const killing = killRepeatedly({
    service: context.service,
    kills: KILLS,
    random: createRandom(seed),
    onKilled: () => void (progress.killed += 1),
    signal: signal,
  });
  const work = Promise.all([killing, ...feeders]);
  try {
    await Promise.race([work, Promise.all(reading)]);
  } finally {
    over.abort();
    await Promise.allSettled([work, ...reading]);
  }
  await Promise.all(reading);
  t.diagnostic(`FC_SEED=${seed}: ${KILLS} kills, ${await killing} of them before the service had started`);
  return counts;
}

const TEST_NAME = `${TRANSACTIONS} disbursements, ${KILLS} kills: no update is lost, no event is lost or doubled`;

test(TEST_NAME, async (t) => {
  const startedMs = performance.now();
  const endpoints = await Promise.all(PATHS.map(register));
  const disbursements = createDisbursements(TRANSACTIONS);
  const { updates, retries } = await feedWhileKilling(t, disbursements);
  const killedForMs = performance.now() - startedMs;
  await untilSettled();
  const settledForMs = performance.now() - startedMs - killedForMs;

  const [stored] = await context.database.query<{ updates: number }>(
    `select count(*)::int as updates from tiba.status_updates where source = 'core'`,
  );
  assert.ok(
    stored !== undefined && stored.updates >= updates,
    `${updates} updates were acknowledged, ${stored?.updates} are stored`,
  );

  for (let at = 0; at < disbursements.length; at += READ_CONCURRENCY) {
    await Promise.all(disbursements.slice(at, at + READ_CONCURRENCY).map(assertEnded));
  }
  const events = await readEvents(client);
  assertInOrder(events, consistencyLog);
  const ids = new Set(events.map(({ eventId }) => eventId));
  assert.deepEqual([...ids].sort(), disbursements.map(({ transactionId }) => `evt_${transactionId}_2`).sort());

  const { requests } = context.receiver;
  assertCallbacksMatchEvents(requests, new Map(events.map((event) => [event.eventId, event])), consistencyLog);
  for (const { path, endpointId, secret } of endpoints) {
    const own = requests.filter((request) => request.path === path);
    for (const request of own) assertSigned(request, [{ secret, from: 0 }]);
    const deliveries = await readDeliveries(client, endpointId);
    assert.ok(deliveries.every(({ state }) => state === 'delivered'));
    assertDeliveriesComplete(deliveries, ids, own);
  }
  assert.deepEqual(consistencyLog.contradictions(), []);
  t.diagnostic(
    `${updates} updates acknowledged, ${stored.updates} stored, ${retries} batches sent again; ` +
      `${events.length} events, ` +
      `${requests.length} callbacks, ${requests.length - events.length * endpoints.length} of them once more`,
  );
  t.diagnostic(`killed for ${Math.round(killedForMs / 1000)} s, settled ${Math.round(settledForMs / 1000)} s later`);
});
