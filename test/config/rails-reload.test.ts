import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import pino from 'pino';
import { type RunningBank, startBank } from '../../apps/bank/src/server.ts';
import { hashSecret } from '../../apps/server/src/auth/secrets.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { partnerSettings } from '../bank/partner.ts';
import { createFastClient } from '../contract/fast-client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, send } from '../support/requests.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { logIn, type ServeProcess, startServe } from '../support/serve.ts';

// SIGHUP to a service of one process: `npm run serve` as a child process, and two banks with TLS.

const SECRET = 'the secret of the test';
const CONNECTIONS = 8;

describe('SIGHUP to the only process reads the rails file again', () => {
  const keys = rsaKeys();
  const partner = partnerSettings(keys);
  const banks: RunningBank[] = [];
  let directory: string;
  let database: TestDatabase;
  let served: ServeProcess;
  let token: string;
  let log = '';

  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'tiba-reload-'));
    const tls = { directory: path.join(directory, 'bank'), names: ['127.0.0.1'] };
    banks.push(await startBank({ ...partner, tls }), await startBank({ ...partner, clientSecret: 'another', tls }));
    await writeFile(path.join(directory, 'key.pem'), keys.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await writeFile(path.join(directory, 'secret.txt'), partner.clientSecret);
    await writeRails([connectionTo(0, 'first')]);
    database = await createTestDatabase();
    await addClient(database);
    served = await startServe({
      database,
      stdout: 'pipe',
      environment: {
        TIBA_STAGING: 'yes',
        TIBA_RAILS_FILE: path.join(directory, 'rails.json'),
        TIBA_EVENT_LOOP_DELAY_MS: '0',
      },
    });
    served.child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (log += chunk));
    token = await logIn(served.url, 'alpha', SECRET);
  });
  after(async () => {
    await served?.release();
    await Promise.all(banks.map((bank) => bank.close()));
    await database?.drop();
    await rm(directory, { recursive: true, force: true });
  });

  const connectionTo = (bank: number, name: string): object => ({
    name,
    protocol: 'snap',
    base_url: banks[bank]?.baseUrl,
    ca_file: 'bank/ca.pem',
    client_key: partner.clientKey,
    client_secret_file: 'secret.txt',
    private_key_file: 'key.pem',
    partner_id: partner.partnerId,
    channel_id: partner.channelId,
    banks: '*',
    quota_per_day: 1_000_000,
  });
  const writeRails = (rails: readonly object[]): Promise<void> =>
    writeFile(path.join(directory, 'rails.json'), JSON.stringify({ rails }));

  /** The lines with this message so far. */
  const linesOf = (message: string): Record<string, unknown>[] =>
    log.split('\n').flatMap((line) => (line.includes(`"msg":"${message}`) ? [JSON.parse(line)] : []));

  /** Sends SIGHUP. Resolves with the line that reports the result. */
  async function hangUp(message: string): Promise<Record<string, unknown>> {
    const before = linesOf(message).length;
    served.child.kill('SIGHUP');
    await eventually(message, () => linesOf(message).length > before);
    return linesOf(message).at(-1) ?? {};
  }

  /** Checks accounts, on several connections at a time, until the condition is true. */
  async function checkUntil(condition: (answers: readonly Answer[]) => boolean | Promise<boolean>): Promise<Answer[]> {
    const client = createFastClient(served.url, CONNECTIONS);
    const answers: Answer[] = [];
    const isEnough = new AbortController();
    const check = async (): Promise<void> => {
      while (!isEnough.signal.aborted) {
        const body = JSON.stringify({ bank_code: '009', account_number: `${randomInt(1e9, 1e10)}1117` });
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
        answers.push(await client.send('/api/v1/check-account', { method: 'POST', headers, body }));
      }
    };
    const checking = Promise.all(Array.from({ length: CONNECTIONS }, check));
    try {
      await eventually('enough accounts are checked', () => condition(answers));
    } finally {
      isEnough.abort();
      await checking;
      await client.close();
    }
    return answers;
  }

  const assertVerdicts = (answers: readonly Answer[]): void => {
    const failed = answers.find(({ status, json }) => status !== 200 || !json.success);
    assert.equal(failed?.text, undefined);
  };
  const metrics = async (): Promise<string> => (await send(`${served.operatorUrl}/metrics`, {})).text;
  const inquiriesOver = async (rail: string): Promise<number> =>
    Number(
      new RegExp(`^tiba_inquiries_total\\{rail="${rail}",outcome="ACTIVE"\\} (\\d+)$`, 'm').exec(
        await metrics(),
      )?.[1] ?? 0,
    );

  test('under load, and no request fails while another bank takes the place of the first', async () => {
    let isReplaced = false;
    const answers = await checkUntil(async (sent) => {
      if (sent.length < 50) return false;
      if (!isReplaced) {
        isReplaced = true;
        await writeFile(path.join(directory, 'secret.txt'), 'another');
        await writeRails([connectionTo(1, 'second')]);
        const { opened, closed } = await hangUp('rails file reloaded');
        assert.deepEqual({ opened, closed }, { opened: ['second'], closed: ['first'] });
      }
      return (await inquiriesOver('second')) > 50;
    });
    assertVerdicts(answers);
    await banks[0]?.close();
    assertVerdicts(await checkUntil((sent) => sent.length > 50));
    const quota = (await metrics()).split('\n').filter((line) => line.startsWith('tiba_rail_quota_left{'));
    assert.ok(quota.length > 0 && quota.every((line) => line.includes('rail="second"')), quota.join('\n'));
  });

  test('and goes on as before, with all faults in the log, while the file is faulty', async () => {
    const faulty = { ...connectionTo(1, 'third'), client_secret_file: 'none.txt', own_bank: 'nowhere' };
    await writeRails([faulty]);
    const { faults, level } = await hangUp('rails file refused');
    assert.equal(level, 50);
    assert.match(
      String(faults),
      /third: client_secret_file cannot be read.*third: own_bank: nowhere is not in the bank/,
    );
    await writeFile(path.join(directory, 'rails.json'), '{');
    assert.match(String((await hangUp('rails file refused'))['faults']), /TIBA_RAILS_FILE is not valid JSON/);
    assertVerdicts(await checkUntil((sent) => sent.length > 50));
  });

  test('and leaves a connection alone that has not changed, but not one whose secret has', async () => {
    await writeRails([connectionTo(1, 'second')]);
    const same = await hangUp('rails file reloaded');
    assert.deepEqual([same['opened'], same['closed']], [[], []]);
    await writeFile(path.join(directory, 'secret.txt'), 'a wrong one');
    const changed = await hangUp('rails file reloaded');
    assert.deepEqual([changed['opened'], changed['closed']], [['second'], ['second']]);
    const [answer] = await checkUntil((sent) => sent.length > 0);
    assert.equal(answer?.status, 503);
    await writeFile(path.join(directory, 'secret.txt'), 'another');
    await hangUp('rails file reloaded');
    assertVerdicts(await checkUntil((sent) => sent.length > 50));
  });

  test('and SIGTERM stops it as ever', async () => {
    assert.equal((await served.terminate()).code, 0);
  });
});

async function addClient({ connection }: TestDatabase): Promise<void> {
  const database = openDatabase({ connection, connectionsMax: 1, log: pino({ level: 'silent' }) });
  await insertClient(database, {
    clientId: 'alpha',
    name: 'alpha',
    secretHash: hashSecret(SECRET),
    scopes: ['account:check'],
    limits: { 'check-account': 1_000_000, 'accounts-per-day': 1_000_000 },
  });
  await database.close();
}
