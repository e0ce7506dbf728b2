import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { SandboxDescription } from '../../apps/server/src/sandbox/description.ts';
import { OUTCOMES } from '../../packages/cli/src/sandbox/outcomes.ts';
import { eventually } from '../support/eventually.ts';
import { type Cli, createCli, documentsOf, type RunningCli } from './cli-process.ts';

const START_MS = 60_000;

let dataDirectory: string;
let cli: Cli;
let running: RunningCli;
let shop: Cli;

before(async () => {
  dataDirectory = await mkdtemp(path.join(tmpdir(), 'tiba-test-'));
  const settings = { TIBA_PORT: '0', TIBA_OPERATOR_PORT: '0', TIBA_SNAP_PORT: '0', TIBA_EVENT_LOOP_DELAY_MS: '0' };
  cli = await createCli({ ...settings, TIBA_DATA_DIR: dataDirectory });
  running = cli.start(['sandbox', 'start', '--json']);
  await eventually(
    'the sandbox is ready',
    () => {
      assert.equal(running.child.exitCode, null, running.stderr());
      return running.stdout().includes('\n');
    },
    START_MS,
  );
  const { base_url: url, clients } = JSON.parse(
    await readFile(path.join(dataDirectory, 'sandbox.json'), 'utf8'),
  ) as SandboxDescription;
  const [{ client_id: id, client_secret: secret }] = clients;
  shop = await createCli({ TIBA_URL: url, TIBA_CLIENT_ID: id, TIBA_CLIENT_SECRET: secret });
});
after(async () => {
  await running?.end('SIGTERM');
  await shop?.remove();
  await cli?.remove();
  await rm(dataDirectory, { recursive: true, force: true });
});

test('sandbox start: with --json one document says where it is, and everything else is standard error', () => {
  const [document, ...others] = documentsOf({ stdout: running.stdout() });
  assert.deepEqual(others, []);
  assert.match(String(document?.['base_url']), /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.match(running.stderr(), /sandbox/i);
});

test('a second sandbox start fails, and leaves the description of the running one', async () => {
  const file = path.join(dataDirectory, 'sandbox.json');
  const description = await readFile(file, 'utf8');
  const second = await cli.run(['sandbox', 'start', '--json']);
  assert.deepEqual([second.code, second.stdout], [1, '']);
  assert.equal(await readFile(file, 'utf8'), description);
});

test('sandbox disburse: the outcome is the one that was chosen; clock: half an hour passes at once', async () => {
  const failing = await cli.run(['sandbox', 'disburse', '--outcome', 'account-not-found', '--reference', 'CLI/1']);
  assert.equal(failing.code, 0, failing.stderr);
  assert.match(failing.stdout, /reference +CLI\/1\n.*\n.*accepted it\nnext +tiba status CLI\/1 --wait/);
  const slow = await cli.run([
    'sandbox',
    'disburse',
    '--outcome',
    'success-after-30-minutes',
    '--reference',
    'CLI/2',
    '--amount',
    '275000.50',
    '--json',
  ]);
  assert.equal(documentsOf(slow)[0]?.['status'], 'PROCESS');
  const clock = await cli.run(['sandbox', 'clock', '--advance', '30m', '--json']);
  assert.equal(documentsOf(clock)[0]?.['advanced_seconds'], 1_800);
  const ended = await shop.run(['status', 'CLI/1', 'CLI/2', '--wait', '--json']);
  assert.deepEqual(
    documentsOf(ended)
      .map(({ id, status, failure_reason: reason, amount }) => {
        const code = typeof reason === 'string' ? reason.split(':')[0] : '-';
        return [id, status, code, amount].map(String).join(' ');
      })
      .toSorted(),
    ['CLI/1 FAILED ACCOUNT_NOT_FOUND 150000.00', 'CLI/2 SUCCESS - 275000.50'],
  );
});

test('what the sandbox refuses, and a sandbox that does not run, are errors that say what to do', async () => {
  const wrong = await cli.run(['sandbox', 'disburse', '--amount', 'much']);
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /^error: Invalid request: amount must be a plain decimal/);
  const both = await cli.run(['sandbox', 'disburse', '--outcome', 'reversed', '--account', '1234567890']);
  assert.equal(both.code, 2);
  const none = await cli.run(['sandbox', 'clock', '--directory', cli.home]);
  assert.equal(none.code, 1);
  assert.match(none.stderr, /no sandbox has been started in .*\nStart it with `tiba sandbox start`/);
});

test('the outcomes are the digits of the simulated bank', async () => {
  const page = await readFile(new URL('../../docs/simulated-bank.md', import.meta.url), 'utf8');
  const section = page.slice(page.indexOf('### Endings'), page.indexOf('### The clock'));
  const digits = [...section.matchAll(/^\| `(\d{4})` \|/gm)].map(([, each]) => each);
  const { success: _success, ...others } = OUTCOMES;
  assert.deepEqual(new Set(Object.values(others)), new Set(digits));
});
