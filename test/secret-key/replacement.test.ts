import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { createSeal } from '../../apps/server/src/auth/secrets.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { call, dataOf, register } from '../callbacks/endpoints-harness.ts';
import { verified } from '../callbacks/webhook.ts';
import { assertSuccess } from '../contract/assertions.ts';
import { databaseUrlOf, manage } from '../manage/manage-process.ts';
import { createTestDatabase, querySql, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type HttpReceiver, startHttpReceiver } from '../support/http-receiver.ts';
import { send, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';

/** TIBA_SECRET_KEY is replaced while processes run, one of which is killed in the middle. */

const OLD = Buffer.alloc(32, 7);
const NEW = Buffer.alloc(32, 8);
const [oldId, newId] = [createSeal(OLD).currentKeyId, createSeal(NEW).currentKeyId];
const ENDPOINTS = 500;
const PROCESS = fileURLToPath(new URL('replacing-process.ts', import.meta.url));

const bank: Rail = {
  name: 'bank',
  reaches: () => true,
  inquireAccount: () =>
    Promise.resolve({ kind: 'verdict', verdict: { status: 'ACTIVE', accountName: 'SITI AMINAH' }, railCode: '00' }),
  close: () => Promise.resolve(),
};

describe('TIBA_SECRET_KEY is replaced', { timeout: timeLimitMs(60_000) }, () => {
  let database: TestDatabase;
  let receiver: HttpReceiver;
  let service: TestService;
  let replacing: ChildProcess | undefined;
  let locking: pg.Client;
  let endpoint: { endpointId: string; secret: string };
  let cursor: string;

  const start = (secretKey: Buffer, previousSecretKey: Buffer | null = null): Promise<TestService> =>
    startTestService({
      database,
      rails: [bank],
      secretKey,
      settings: { previousSecretKey },
    });
  /** How many secrets are sealed with each key. */
  async function countByKey(): Promise<Record<string, unknown>> {
    const columns = [
      'installation.data_key_sealed',
      'signing_keys.private_jwk_sealed',
      'callback_endpoints.secret_sealed',
    ];
    const all = columns.map((each) => `select ${each.split('.')[1]} as sealed from tiba.${each.split('.')[0]}`);
    const sql = `select encode(substr(sealed, 1, 8), 'hex') as key, count(*)::int as count
                   from (${all.join(' union all ')}) s group by 1`;
    return Object.fromEntries((await querySql(database, sql)).map(({ key, count }) => [key, count]));
  }
  const metrics = async ({ operatorUrl }: TestService): Promise<string> =>
    (await send(`${operatorUrl}/metrics`, {})).text;
  const page = (parameters: string) => service.get(`/api/v1/transactions?limit=1${parameters}`);

  before(async () => {
    database = await createTestDatabase();
    receiver = await startHttpReceiver();
    service = await start(OLD);
    endpoint = await register(service, { url: `${receiver.url}/callbacks` });
    await service.feed(
      [1, 2].map((each) => statusUpdate({ transaction_id: `TS000000000${each}`, reference_id: `${each}` })),
    );
    assertSuccess(await service.checkAccount({ bank_code: 'BCA', account_number: '1234567890' }));
    cursor = String(dataOf(await page(''))['next_cursor']);
    const seal = createSeal(OLD);
    await querySql(
      database,
      `insert into tiba.callback_endpoints (client_id, endpoint_id, url, kinds, secret_sealed)
       select 'beta', 'ep_' || number, 'https://example.com', '{}', sealed
         from unnest($1::bytea[]) with ordinality as given (sealed, number)`,
      [Array.from({ length: ENDPOINTS }, (_, index) => seal.seal(`whsec_${index}`))],
    );
    locking = new pg.Client(database.connection);
    await locking.connect();
  });
  after(async () => {
    replacing?.kill('SIGKILL');
    await locking?.end();
    await service?.close();
    await receiver?.close();
    await database?.drop();
  });

  it('not while a process has the former key only: what others seal meanwhile it can open', async (t) => {
    const second = await start(NEW, OLD);
    t.after(() => second.close());
    const shown = new RegExp(`^tiba_secrets_to_reseal ${ENDPOINTS + 3}$`, 'm');
    await eventually('it counts what is to be sealed again', async () => shown.test(await metrics(second)));
    await register(second, { url: `${receiver.url}/second` });
    await second.app.close();
    assert.deepEqual(await countByKey(), { [oldId]: ENDPOINTS + 4 });
    const { code, stdout } = await manage(['secret-key'], { environment: { DATABASE_URL: databaseUrlOf(database) } });
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`^Secrets are sealed with key ${oldId} from now on: ${ENDPOINTS + 4} are\\.`));
  });

  it('is refused at start with any other key', async () => {
    const message = new RegExp(`TIBA_SECRET_KEY is not the key that sealed .* sealed with key ${oldId}`);
    await assert.rejects(start(NEW), message);
    await assert.rejects(start(Buffer.alloc(32, 9), NEW), message);
  });

  it('a process that replaces it is killed in the middle', async () => {
    await locking.query('begin');
    await locking.query(
      "select from tiba.callback_endpoints where client_id = 'beta' and endpoint_id = 'ep_250' for update",
    );
    const connectionString = database.connection.connectionString ?? '';
    replacing = fork(PROCESS, [connectionString, NEW.toString('hex'), OLD.toString('hex')]);
    await once(replacing, 'message');
    assert.deepEqual(await countByKey(), { [oldId]: ENDPOINTS + 4 });
    // The last process without the new key ends.
    await service.close();
    await eventually('some secrets are sealed again', async () => Number((await countByKey())[newId] ?? 0) > 0);
    replacing.kill('SIGKILL');
    await once(replacing, 'exit');
    await locking.query('rollback');
    const counts = await countByKey();
    assert.ok(Number(counts[newId]) > 0 && Number(counts[oldId]) > 0, JSON.stringify(counts));
  });

  it('the next process goes on, and says when the former key can go', async () => {
    // A process without the new key is refused from the switch on.
    await assert.rejects(start(OLD), new RegExp(`sealed with key ${newId}`));
    service = await start(NEW, OLD);
    await eventually('all are sealed again', async () => Number((await countByKey())[oldId] ?? 0) === 0);
    await eventually('it says so', () =>
      service.logged.some(({ msg }) => /TIBA_SECRET_KEY_PREVIOUS can be removed/.test(String(msg))),
    );
    assert.match(await metrics(service), /^tiba_secrets_to_reseal 0$/m);
    assert.deepEqual(await countByKey(), { [newId]: ENDPOINTS + 4 });
    const { stdout } = await manage(['secret-key'], { environment: { DATABASE_URL: databaseUrlOf(database) } });
    assert.match(stdout, /TIBA_SECRET_KEY_PREVIOUS can be removed\.$/m);
  });

  it('with the new key alone, callbacks are signed as before, and searches and cursors work', async () => {
    await service.close();
    service = await start(NEW);
    const seal = createSeal(NEW);
    const sealed = await querySql(
      database,
      "select endpoint_id, secret_sealed from tiba.callback_endpoints where endpoint_id = 'ep_7'",
    );
    assert.deepEqual(
      sealed.map((row) => seal.open(row['secret_sealed'] as Buffer)),
      ['whsec_6'],
    );
    const tested = await call(service, 'POST', `/api/v1/callback-endpoints/${endpoint.endpointId}/test`);
    assert.equal(dataOf(tested)['succeeded'], true, tested.text);
    const types = receiver.requests
      .filter((each) => each.path === '/callbacks')
      .map((each) => verified(endpoint.secret, each)['type']);
    assert.ok(types.includes('endpoint.test'));
    const checks = await service.get('/api/v1/account-checks?account_number=1234567890&bank_code=BCA');
    assert.equal((assertSuccess(checks)['account_checks'] as unknown[]).length, 1);
    const [listed = assert.fail()] = dataOf(await page(`&cursor=${cursor}`))['transactions'] as Record<
      string,
      unknown
    >[];
    assert.equal(listed['transaction_id'], 'TS0000000001');
  });
});
