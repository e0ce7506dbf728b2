import assert from 'node:assert/strict';
import { afterEach, suite, test } from 'node:test';
import pg from 'pg';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { addSnapClient, call, requestToken, type SnapAnswer } from '../snap-clients/snap-client.ts';
import { eventually } from '../support/eventually.ts';
import { statusUpdate } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { startServiceOnPostgres } from './service-on-postgres.ts';

/** The outcome of an inquiry to a bank that does not reply. */
const silentUntil = <T>(signal: AbortSignal, outcome: T): Promise<T> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(outcome), { once: true }));
const NO_REPLY = { reason: 'timeout', railCode: null } as const;
const silent: Rail = {
  name: 'silent',
  reaches: () => true,
  inquireAccount: (_inquiry, signal) => silentUntil(signal, { kind: 'no_verdict', ...NO_REPLY }),
  inquireStatus: (_inquiry, signal) => silentUntil(signal, { kind: 'no_status', ...NO_REPLY }),
  close: async () => {},
};

const { server, service } = await startServiceOnPostgres({
  service: { rails: [silent], settings: { snapPort: 0, snapOwnBank: 'BCA' } },
});
const snapUrl = service.app.snapUrl ?? '';
const shop = await addSnapClient(service, 'alpha');
const newToken = async (): Promise<string> => String((await requestToken(snapUrl, shop)).body['accessToken']);
const token = await newToken();

const ACCOUNT = { beneficiaryBankCode: '014', beneficiaryAccountNo: '1234567890' };
/** Each signed service, and within how much time its answer is promised. */
const SERVICES = {
  15: { path: '/v1.0/account-inquiry-internal', body: ACCOUNT, withinMs: 5_000 },
  16: { path: '/v1.0/account-inquiry-external', body: ACCOUNT, withinMs: 5_000 },
  36: {
    path: '/v1.0/transfer/status',
    body: { originalReferenceNo: 'TB0000000001', serviceCode: '18' },
    withinMs: 3_100,
  },
} as const;
type Service = keyof typeof SERVICES;

async function callWithin(code: Service, changes: Record<string, string> = {}): Promise<SnapAnswer> {
  const { path, withinMs } = SERVICES[code];
  const body = { ...SERVICES[code].body, ...changes };
  const startedMs = performance.now();
  const answer = await call(snapUrl, shop, token, body, { path });
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs < timeLimitMs(withinMs), `service ${code} answered after ${Math.round(tookMs)} ms`);
  return answer;
}

function assertFault({ status, headers, body }: SnapAnswer, code: Service): void {
  assert.deepEqual([status, body['responseCode']], [500, `500${code}01`]);
  assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  assert.match(String(body['responseMessage']), /repeat/i);
}

/** From now on, each request takes this long to store its X-EXTERNAL-ID. */
async function slowExternalIds(seconds: number): Promise<void> {
  await server.query(
    `create or replace function tiba.slow() returns trigger language plpgsql as
       $$ begin perform pg_sleep(${seconds}); return new; end $$`,
  );
  await server.query(
    'create trigger slow before insert on tiba.snap_external_ids for each row execute function tiba.slow()',
  );
}

afterEach(async () => {
  server.resume();
  await server.query('drop trigger if exists slow on tiba.snap_external_ids');
});

suite('the services of the SNAP listener', () => {
  test('while PostgreSQL is frozen: 500ss01 with Retry-After within the time of the JSON operations', async () => {
    await server.freeze();
    // The first ones wait for PostgreSQL, and the later ones do not: it is known by then that it does not answer.
    for (let time = 0; time < 2; time += 1) {
      const codes = [15, 16, 36] as const;
      const answers = await Promise.all(codes.map((code) => callWithin(code)));
      for (const [index, code] of codes.entries()) assertFault(answers[index] as SnapAnswer, code);
    }
    // For a second after PostgreSQL's last sign of life, what is known of the client is current.
    await eventually(
      'no token is issued',
      async () => (await requestToken(snapUrl, shop)).body['responseCode'] === '5007301',
    );
    server.resume();
    await eventually('a token is issued again', async () => (await newToken()) !== 'undefined');
  });

  // Regression: 5.3 s and more. PostgreSQL's time was added to the 4 s of the bank.
  test('while PostgreSQL is slow and the bank is silent, an account inquiry is answered within 5 s', async () => {
    await slowExternalIds(1.2);
    const { status, body } = await callWithin(16);
    assert.deepEqual([status, body['responseCode']], [504, '5041600']);
  });

  // Regression: 4 s and more. The times of all its statements were added.
  test('while each statement is slow, a status inquiry is answered 5003601 within 3 s', async () => {
    // Its bank has not been asked yet, so this reader asks it, and looks it up again.
    const originalReferenceNo = 'TB0000000036';
    const order = { rail: 'silent', rail_reference: 'TRANSFER-36', created_at: new Date().toISOString() };
    await service.feed(statusUpdate({ transaction_id: originalReferenceNo, reference_id: 'INV/36', ...order }));
    const holders = [0, 1].map(() => new pg.Client(server.database.connection));
    await slowExternalIds(1.2);
    try {
      const [first, second] = holders as [pg.Client, pg.Client];
      const lock = 'begin; lock table tiba.transactions in access exclusive mode';
      for (const each of holders) await each.connect();
      await first.query(lock);
      const answer = callWithin(36, { originalReferenceNo });
      answer.catch(() => {});
      await eventually('the look-up waits', () => isAnyWaiting('isOnDay'));
      // In the queue for the lock, behind the first look-up: the look-up after the inquiry at the bank waits again.
      const locked = second.query(lock);
      await eventually('both wait', () => isAnyWaiting('lock table tiba.transactions'));
      await first.query('select pg_sleep(0.9); rollback');
      await locked;
      assertFault(await answer, 36);
    } finally {
      await Promise.all(holders.map((each) => each.end()));
    }
  });
});

/** Whether a statement with this text waits for a lock. */
async function isAnyWaiting(text: string): Promise<boolean> {
  const waiting = await server.query(
    `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%' || $1 || '%' limit 1`,
    [text],
  );
  return waiting.length > 0;
}
