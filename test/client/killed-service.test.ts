import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import pino from 'pino';
import { hashSecret } from '../../apps/server/src/auth/secrets.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { createTibaClient, TibaError } from '../../packages/client/src/index.ts';
import { findFreePort } from '../sandbox/production-settings.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { send, statusUpdate } from '../support/requests.ts';
import { logIn, startServe } from '../support/serve.ts';
import { countFetch } from './test-client.ts';

/**
 * `npm run serve` is killed with SIGKILL and started again while many callers of the client check statuses.
 * `CHECKS=10000` is the long form: it takes three minutes, in which the limit of each minute is used.
 */

const CHECKS = Number(process.env['CHECKS'] ?? 600);
const IS_LONG = process.env['CHECKS'] !== undefined;
const CALLERS = 50;
const WINDOW_MS = 60_000;
/** The short form does not wait for a window. */
const LIMIT = IS_LONG ? 3_000 : 1_000_000;
const KNOWN = 'INV/2026/001';
const SECRET = randomBytes(32).toString('base64url');

async function startDatabase(context: TestContext): Promise<TestDatabase> {
  const created = await createTestDatabase();
  context.after(() => created.drop());
  const database = openDatabase({ connection: created.connection, connectionsMax: 1, log: pino({ level: 'silent' }) });
  try {
    const shared = { secretHash: hashSecret(SECRET), limits: { 'check-status': LIMIT } };
    await insertClient(database, { ...shared, clientId: 'shop', name: 'shop', scopes: ['status:read'] });
    await insertClient(database, { ...shared, clientId: 'core', name: 'core', scopes: ['feed:write'] });
  } finally {
    await database.close();
  }
  return created;
}

/** A transaction that stays in PROCESS, so that the client remembers no answer about it. */
async function feedOne(url: string, operatorUrl: string): Promise<void> {
  const { status, text } = await send(`${operatorUrl}/feed/v1/transactions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${await logIn(url, 'core', SECRET)}` },
    body: JSON.stringify(statusUpdate({ client_id: 'shop', reference_id: KNOWN })),
  });
  assert.equal(status, 200, text);
}

test(`${CHECKS} checks by ${CALLERS} callers, the service killed in the middle: every promise settles rightly`, async (context) => {
  const database = await startDatabase(context);
  const ports = { port: await findFreePort(), operatorPort: await findFreePort() };
  // A machine that is busy with tests delays every event loop.
  const environment = { TIBA_EVENT_LOOP_DELAY_MS: '0' };
  const start = () => startServe({ database, stdout: 'pipe', ports, environment });
  const first = await start();
  context.after(() => first.release());
  await feedOne(first.url, first.operatorUrl);

  const sent = countFetch();
  const tiba = createTibaClient({
    baseUrl: first.url,
    clientId: 'shop',
    clientSecret: SECRET,
    fetch: sent.fetch,
    retriesMax: 30,
    timeoutMs: 20 * WINDOW_MS,
  });
  const outcomes: string[] = [];
  let begun = 0;
  async function caller(): Promise<void> {
    while (begun < CHECKS) {
      begun += 1;
      const isKnown = begun % 2 === 0;
      const outcome = await tiba.checkStatus(isKnown ? KNOWN : 'NONE').then(
        ({ status, amount }) => `known: ${status} ${amount}`,
        (error: unknown) => `unknown: ${error instanceof TibaError ? error.error_code : String(error)}`,
      );
      assert.ok(outcome.startsWith(isKnown ? 'known' : 'unknown'), outcome);
      outcomes.push(outcome);
    }
  }

  const startedMs = performance.now();
  const calls = Promise.all(Array.from({ length: CALLERS }, caller));
  await eventually('a third is answered', () => outcomes.length > CHECKS / 3, 2 * WINDOW_MS);
  first.child.kill('SIGKILL');
  await eventually('requests find no service', () => sent.requests.length > outcomes.length + CALLERS);
  const second = await start();
  context.after(() => second.release());
  await calls;
  const tookMs = performance.now() - startedMs;

  const counts = Object.fromEntries(
    [...Map.groupBy(outcomes, (outcome) => outcome)].map(([key, all]) => [key, all.length]),
  );
  assert.deepEqual(counts, {
    'known: PROCESS 150000.00': Math.floor(CHECKS / 2),
    'unknown: TRANSACTION_NOT_FOUND': Math.ceil(CHECKS / 2),
  });
  assert.equal(sent.statuses.get(429), undefined);
  assert.ok(sent.requests.length > CHECKS, 'no request failed: the service was not missed');
  const failed = sent.requests.length - outcomes.length;
  const shortestMs = (Math.ceil(CHECKS / LIMIT) - 1) * WINDOW_MS;
  const used = IS_LONG ? `, ${((shortestMs / tookMs) * 100).toFixed(2)} % of the allowance used` : '';
  context.diagnostic(`${failed} requests without an answer, ${Math.round(tookMs)} ms${used}`);
  if (IS_LONG) assert.ok(shortestMs / tookMs >= 0.97, used);
});
