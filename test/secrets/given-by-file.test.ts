import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import pino from 'pino';
import { hashSecret } from '../../apps/server/src/auth/secrets.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { databaseUrlOf } from '../manage/manage-process.ts';
import { processTreeOf } from '../sandbox/processes.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { send } from '../support/requests.ts';
import { logIn, type ServeProcess, startServe } from '../support/serve.ts';
import { createTlsFiles, type TlsTestFiles } from '../tls/files.ts';

/**
 * Secrets that are given by file are nowhere else: not in `/proc/PID/environ` or `cmdline` of the parent, its workers
 * and the readers of uploads, not in the log, the metrics, standard error and the report of a process that crashes.
 */

const SECRET_KEY = Buffer.from('the-secret-key-of-this-test-32-b');
const PREVIOUS_KEY = Buffer.from('former-secret-key-of-this-test-3');
const CLIENT_SECRET = 'secret-of-the-client';
const BANK_SECRET = 'secret-at-the-bank';
const SECRETS = {
  TIBA_METRICS_TOKEN: 'token-of-the-metrics-which-is-long-enough',
  TIBA_SECRET_KEY: SECRET_KEY.toString('base64'),
  TIBA_SECRET_KEY_PREVIOUS: PREVIOUS_KEY.toString('base64'),
  // Nothing listens there, so that there are errors about them.
  TIBA_VALKEY_URL: 'redis://tiba:password-of-valkey@127.0.0.1:1',
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=header-of-the-collector',
};
const DATABASE_PASSWORD = 'password-of-the-database';

/** Ends a process by an uncaught exception when it gets this signal. */
const CRASH = 'data:text/javascript,process.on("SIGWINCH",()=>{throw new Error("a crash")})';

let directory: string;
let files: TlsTestFiles;
let database: TestDatabase;
let served: ServeProcess;
let log = '';
let needles: readonly string[];

before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'tiba-by-file-'));
  database = await createTestDatabase();
  files = await createTlsFiles();
  await mkdir(path.join(directory, 'reports'));
  const byFile = { ...SECRETS, DATABASE_URL: databaseUrlOf(database).replace('hunter2', DATABASE_PASSWORD) };
  const environment: Record<string, string> = {};
  for (const [name, secret] of Object.entries(byFile)) {
    await writeFile(path.join(directory, name), `${secret}\n`);
    environment[`${name}_FILE`] = path.join(directory, name);
    // An empty variable counts as not set.
    environment[name] = '';
  }
  const keyLine = (await readFile(files.keyFile, 'utf8')).split('\n')[1] ?? '';
  assert.ok(keyLine.length > 40);
  needles = [
    ...[SECRET_KEY, PREVIOUS_KEY].flatMap((key) => [String(key), key.toString('hex'), key.toString('base64')]),
    SECRETS.TIBA_METRICS_TOKEN,
    'password-of-valkey',
    'header-of-the-collector',
    DATABASE_PASSWORD,
    CLIENT_SECRET,
    BANK_SECRET,
    keyLine,
  ];
  served = await startServe({
    database,
    stdout: 'pipe',
    prefix: ['sh', '-c', `ulimit -c 0; exec "$@" 2>${path.join(directory, 'stderr')}`, 'sh'],
    nodeOptions: [
      '--report-uncaught-exception',
      '--report-on-fatalerror',
      `--report-directory=${path.join(directory, 'reports')}`,
      '--import',
      CRASH,
    ],
    bankSecret: BANK_SECRET,
    environment: {
      ...environment,
      TIBA_PROCESSES: '2',
      TIBA_LOG_LEVEL: 'trace',
      TIBA_EVENT_LOOP_DELAY_MS: '0',
      TIBA_TLS_CERTIFICATE_FILE: files.certificateFile,
      TIBA_TLS_KEY_FILE: files.keyFile,
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    },
  });
  served.child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (log += chunk));
  await eventually('all processes are ready', () => log.includes('all processes are ready'));
});
after(async () => {
  // A worker that is starting, in place of one that crashed, may write a report when its parent is killed.
  await served?.terminate();
  await served?.release();
  await database?.drop();
  await files?.remove();
  await rm(directory, { recursive: true });
});

const secretsIn = (text: string): string[] => needles.filter((needle) => text.includes(needle));

/** The environment and the command line of each process that is there now. */
async function readProcesses(seen: Map<number, string>): Promise<void> {
  for (const { pid } of await processTreeOf(served.child.pid as number)) {
    const of = (file: string): Promise<string> => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
    const text = `${await of('environ')}\n${await of('cmdline')}`;
    if (text.length > 1) seen.set(pid, text);
  }
}

test('the search finds each secret where it is', async () => {
  const given = await Promise.all(
    (await readdir(directory, { withFileTypes: true }))
      .filter((each) => each.isFile())
      .map((each) => readFile(path.join(directory, each.name), 'utf8')),
  );
  const key = await readFile(files.keyFile, 'utf8');
  const found = secretsIn([...given, key].join('\n'));
  assert.ok(found.length >= 7, found.join(' '));
});

suite('a secret that is given by file', () => {
  const processes = new Map<number, string>();
  let token = '';
  before(async () => {
    const own = openDatabase({ connection: database.connection, connectionsMax: 1, log: pino({ level: 'silent' }) });
    const scopes = ['account:check', 'status:read'];
    await insertClient(own, { clientId: 'shop', name: 'shop', secretHash: hashSecret(CLIENT_SECRET), scopes });
    await own.close();
    await eventually('the client can log in', () =>
      logIn(served.url, 'shop', CLIENT_SECRET).then(
        (issued) => Boolean((token = issued)),
        () => false,
      ),
    );
  });

  test('is not in the environment or command line of any process, readers of uploads included', async () => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/csv' };
    const body = `bank_code,account_number\n${'BCA,1234567890\n'.repeat(200)}`;
    await eventually('a reader of an upload is seen', async () => {
      const upload = send(`${served.url}/api/v1/account-validations`, { method: 'POST', headers, body });
      const ended = new AbortController();
      void upload.finally(() => ended.abort());
      do await readProcesses(processes);
      while (!ended.signal.aborted);
      await upload;
      // The parent and two workers are there always.
      return processes.size > 3;
    });
    for (const [pid, text] of processes) assert.deepEqual(secretsIn(text), [], `process ${pid}`);
  });

  test('is not in answers, metrics and the log, also where it causes errors', async () => {
    const ask = async (url: string, init: RequestInit): Promise<string> => (await send(url, init)).text;
    const authorization = `Bearer ${token}`;
    const json = { authorization, 'content-type': 'application/json' };
    const check = JSON.stringify({ bank_code: 'BCA', account_number: '1234567890' });
    const answers = [
      await ask(`${served.url}/api/v1/check-account`, { method: 'POST', headers: json, body: check }),
      await ask(`${served.url}/api/v1/check-status/NONE`, { headers: { authorization: `Bearer ${CLIENT_SECRET}` } }),
      await ask(`${served.operatorUrl}/readyz`, {}),
      await ask(`${served.operatorUrl}/metrics`, {}),
    ];
    const withToken = { headers: { authorization: `Bearer ${SECRETS.TIBA_METRICS_TOKEN}` } };
    await eventually('the metrics of the workers, which a busy one may answer late', async () => {
      const metrics = await ask(`${served.operatorUrl}/metrics`, withToken);
      answers.push(metrics);
      return /^tiba_valkey_up 0$/m.test(metrics);
    });
    await eventually('the errors are logged', () => /valkey/i.test(log) && /check-account/.test(log));
    assert.deepEqual(secretsIn(answers.join('\n') + log), []);
  });

  test('is not in what a crash leaves: report, standard error, log', async () => {
    const [, first, second] = (await processTreeOf(served.child.pid as number)).map(({ pid }) => pid);
    assert.ok(first !== undefined && second !== undefined);
    const isThere = async (pid: number): Promise<boolean> =>
      (await processTreeOf(served.child.pid as number)).some((each) => each.pid === pid);
    process.kill(first, 'SIGWINCH');
    process.kill(second, 'SIGABRT');
    const reports = path.join(directory, 'reports');
    await eventually('there is a report', async () => (await readdir(reports)).length > 0);
    await eventually('both are gone', async () => !(await isThere(first)) && !(await isThere(second)));
    await eventually('the log says so', () => log.includes('worker process ended by itself'));
    const report = await readFile(path.join(reports, (await readdir(reports))[0] ?? ''), 'utf8');
    assert.match(report, /a crash/);
    const stderr = await readFile(path.join(directory, 'stderr'), 'utf8');
    assert.match(stderr, /a crash/);
    assert.deepEqual(secretsIn(report + stderr + log), []);
  });
});
