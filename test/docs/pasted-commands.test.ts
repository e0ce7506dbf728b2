import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { SECTIONS } from '../../docs/site/contents.ts';
import { findFreePort } from '../sandbox/production-settings.ts';
import { commandIsMissing } from '../support/required-command.ts';
import { type Sandbox, startSandbox } from '../support/sandbox.ts';
import { INHERITED } from '../support/suite-environment.ts';
import { testGuides } from './guides.ts';
import { blocksOf, pastedBlocks, runOn } from './terminals.ts';

/** The commands in the documentation work when a reader pastes them. */

const root = new URL('../../', import.meta.url);
const read = (file: string): Promise<string> => readFile(new URL(file, root), 'utf8');

const withoutCurl = commandIsMissing('curl');

let directory: string;
let sandbox: Sandbox;

before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'tiba-docs-'));
  sandbox = await startSandbox({ dataDirectory: path.join(directory, '.tiba') });
});

after(async () => {
  await sandbox?.stop();
  await rm(directory, { recursive: true, force: true });
});

/** The shell blocks of a page that contain a text. */
async function shellBlocks(page: string, text: string): Promise<string> {
  const blocks = [...(await read(page)).matchAll(/```sh\n([^]*?)```/g)].map(([, block = '']) => block);
  const wanted = blocks.filter((block) => block.includes(text));
  assert.ok(wanted.length > 0, `${page} has no shell block with ${text}`);
  for (const block of wanted) pastedBlocks.add(block);
  return wanted.join('\n');
}

/** Runs the commands in the folder of the sandbox, with the addresses of this sandbox. */
async function paste(commands: string): Promise<unknown[]> {
  const { base_url: baseUrl, operator_url: operatorUrl, snap } = sandbox.description;
  const here = commands
    .replaceAll('http://127.0.0.1:8080', baseUrl)
    .replaceAll('http://127.0.0.1:8081', operatorUrl)
    .replaceAll('http://127.0.0.1:8082', snap.base_url);
  const script = here.replaceAll(/^curl /gm, 'curl -sS -w "\\n" ');
  const { stdout } = await promisify(execFile)('bash', ['-euc', script], { cwd: directory });
  return (
    stdout
      .split('\n')
      // Of `curl -i` there are headers.
      .filter((line) => line.trim() !== '' && !/^(?:HTTP\/1\.1 \d+ |[\w-]+: )/.test(line))
      .map((line) => JSON.parse(line))
  );
}

/** The line of the README that gets the token of the demo shop. */
const tokenLine = async (): Promise<string> =>
  (await shellBlocks('README.md', 'check-account')).split('\n', 1)[0] ?? '';

/** `true` or the code of each answer. */
const outcomesOf = (answers: readonly unknown[]): unknown[] =>
  (answers as { success?: unknown; error_code?: unknown }[]).map(({ error_code: code, success }) => code ?? success);

test("README's two questions and its disbursement are answered", { skip: withoutCurl }, async () => {
  const [status, account, made, arrived] = (await paste(await shellBlocks('README.md', 'curl'))) as Record<
    string,
    Record<string, unknown>
  >[];
  assert.equal(status?.['data']?.['status'], 'SUCCESS');
  assert.equal(account?.['data']?.['status'], 'ACTIVE');
  assert.equal(made?.['data']?.['status'], 'PROCESS');
  assert.equal(arrived?.['data']?.['status'], 'SUCCESS');
  assert.equal(arrived?.['data']?.['transaction_id'], made?.['data']?.['transaction_id']);
  // Regression: account_name was not the holder of the account.
  const holder = account?.['data']?.['account_name'];
  assert.deepEqual(
    [status, arrived].map((each) => each?.['data']?.['account_name']),
    [holder, holder],
  );
});

test("the API page's account check matches the holder's name", { skip: withoutCurl }, async () => {
  const token = await tokenLine();
  const [answer] = await paste(`${token}\n${await shellBlocks('docs/api.md', 'expected_account_name')}`);
  const { data } = answer as { data: Record<string, Record<string, unknown>> };
  assert.equal(data['name_match']?.['result'], 'MATCH');
});

test("the API page's batch finds two IDs of three", { skip: withoutCurl }, async () => {
  const token = await tokenLine();
  const [answer] = await paste(`${token}\n${await shellBlocks('docs/api.md', 'check-status/batch')}`);
  const { data } = answer as { data: { results: Record<string, unknown>[] } };
  assert.deepEqual(
    data.results.map(({ error_code }) => error_code),
    [undefined, undefined, 'TRANSACTION_NOT_FOUND'],
  );
});

test("the simulated bank's page orders a disbursement and advances the clock until it has arrived", {
  skip: withoutCurl,
}, async () => {
  const [made, pushed, arrived] = (await paste(await shellBlocks('docs/simulated-bank.md', '/sandbox/v1/'))) as Record<
    string,
    Record<string, unknown>
  >[];
  assert.equal(made?.['data']?.['bank'], 'accepted');
  assert.equal(pushed?.['data']?.['advanced_seconds'], 1800);
  assert.equal(arrived?.['data']?.['status'], 'SUCCESS');
  assert.equal(arrived?.['data']?.['total_amount'], 277_500.5);
});

test("the feed page's example is accepted", { skip: withoutCurl }, async () => {
  const [answer] = (await paste(await shellBlocks('docs/feed.md', 'curl'))) as Record<
    string,
    Record<string, unknown>
  >[];
  assert.equal(answer?.['data']?.['inserted'], 1);
});

test('the commands on the page of account validations do what it says', { skip: withoutCurl }, async () => {
  const token = await tokenLine();
  const [send, read] = await Promise.all([
    shellBlocks('docs/account-validations.md', '--data-binary'),
    shellBlocks('docs/account-validations.md', 'results?after=0'),
  ]);
  const [accepted] = (await paste(`${token}\n${send}`)) as Record<string, Record<string, unknown>>[];
  assert.equal(accepted?.['data']?.['rows'], 2);
  const [page, toFile, follow] = read.trim().split('\n');
  // The stream ends when the account validation has ended.
  const id = `ID=${String(accepted?.['data']?.['validation_id'])}`;
  const results = await paste([token, id, follow, page].join('\n'));
  assert.equal(results.length, 3);
  assert.equal((results[2] as Record<string, Record<string, unknown[]>>)['data']?.['results']?.length, 2);
  await paste([token, id, toFile, `echo true`].join('\n'));
  assert.match(await readFile(path.join(directory, 'results.csv'), 'utf8'), /^sequence,row,reference,bank_code,/);
});

test("the SNAP page's commands, with OpenSSL: token, account inquiry, status", { skip: withoutCurl }, async () => {
  const [account, status] = (await paste(await shellBlocks('docs/snap-clients.md', 'openssl'))) as Record<
    string,
    unknown
  >[];
  assert.equal(account?.['responseCode'], '2001600');
  assert.equal(typeof account?.['beneficiaryAccountName'], 'string');
  assert.equal(status?.['responseCode'], '2003600');
  assert.equal(status?.['latestTransactionStatus'], '00');
});

test('the commands in the banner succeed', { skip: withoutCurl }, async () => {
  const lines = sandbox
    .output()
    .split('\n')
    .filter((line) => /^(?:TOKEN=|CORE=|SNAP_\w+=|curl )/.test(line));
  assert.equal(lines.length, 9);
  const answers = (await paste(lines.join('\n'))) as Record<string, unknown>[];
  assert.deepEqual(
    answers.map((answer) => answer['success'] ?? answer['responseCode']),
    [true, true, true, true, '2007300'],
  );
});

testGuides(() => ({ sandbox, dataDirectory: path.join(directory, '.tiba') }));

test('the commands on the pages of the API are answered', { skip: withoutCurl }, async () => {
  const token = await tokenLine();
  const api = await paste(`${token}\n${await shellBlocks('docs/api.md', 'curl')}`);
  assert.deepEqual(outcomesOf(api), ['TRANSACTION_NOT_FOUND', ...Array.from({ length: 9 }, () => true)]);
  assert.match(await readFile(path.join(directory, 'november.csv'), 'utf8'), /^transaction_id,/);
  // The sandbox has no connection that resolves aliases.
  const banks = await paste(`${token}\n${await shellBlocks('docs/banks.md', 'curl')}`);
  assert.deepEqual(outcomesOf(banks), [true, 'UNSUPPORTED_BANK']);

  const [registered] = await paste(`${token}\n${await shellBlocks('docs/callbacks.md', '-d \'{"url"')}`);
  const { endpoint_id: endpoint } = (registered as { data: { endpoint_id: string } }).data;
  const enable = await shellBlocks('docs/callbacks.md', 'PATCH');
  const events = await shellBlocks('docs/callbacks.md', 'after=0');
  const answers = await paste([token, `ENDPOINT=${endpoint}`, enable, events].join('\n'));
  assert.deepEqual(outcomesOf(answers), [true, true, true]);
});

test("the simulated bank's page: its clock by the command line, and a bank that is started by hand", {
  skip: withoutCurl || commandIsMissing('openssl'),
}, async () => {
  const program = `"${process.execPath}" "${fileURLToPath(new URL('packages/cli/src/main.ts', root))}"`;
  const commands = (await shellBlocks('docs/simulated-bank.md', 'npx tiba')).replaceAll('npx tiba', program);
  const { stdout } = await promisify(execFile)('bash', ['-euc', commands], { cwd: directory });
  assert.match(stdout, /in-half-an-hour[^]*clock/);

  const port = String(await findFreePort());
  const start = (await shellBlocks('docs/simulated-bank.md', 'npm run bank'))
    .replaceAll('partner.pem', `"${directory}/partner.pem"`)
    .replace('8090', port)
    .replace('npm run bank', `exec "${process.execPath}" apps/bank/src/main.ts`);
  const bank = await runOn(start, INHERITED, new RegExp(port));
  try {
    const curls = await shellBlocks('docs/simulated-bank.md', ':8090/');
    const [clock, transfer] = (await paste(curls.replaceAll(':8090/', `:${port}/`))) as Record<string, unknown>[];
    assert.equal(clock?.['advanced_seconds'], 1800);
    assert.ok(transfer);
  } finally {
    bank.kill();
  }
});

/** Commands of the pages for clients that are run elsewhere. */
const RUN_ELSEWHERE: readonly string[] = [
  // Below, and .ci/run.
  'npm ci && npm',
  // test/client/package.test.ts and `npm run campaign -- runtimes`: the packed package in an empty project.
  'npm install @tiba/client',
  // test/name-match/evaluation.test.ts
  'test/name-match/evaluate.ts',
  // `npm run campaign -- terminal`
  'npx tiba login\n',
  // test/cli/login.test.ts
  'tiba login --profile test',
  // test/cli/listen.test.ts
  'export TIBA_CALLBACK_SECRET=$(tiba listen --print-secret)',
  // `npm run campaign -- languages`
  'TIBA_CLIENT_SECRET=…',
  'openapi-3.0',
  'openapi-generator',
];

test('every command on a page for clients is run', { skip: withoutCurl }, async () => {
  for (const page of SECTIONS.flatMap(({ sources }) => sources)) {
    for (const { commands } of blocksOf(await read(page))) {
      const isRun = pastedBlocks.has(commands) || RUN_ELSEWHERE.some((text) => commands.includes(text));
      assert.ok(isRun, `no test runs this of ${page}:\n${commands}`);
    }
  }
});

test("README's two commands are those of the package", async () => {
  const { scripts } = JSON.parse(await read('package.json')) as { scripts: Record<string, string> };
  const blocks = await shellBlocks('README.md', 'npm ci');
  assert.deepEqual(blocks.match(/^npm ci && npm \w+$/gm), ['npm ci && npm start', 'npm ci && npm test']);
  assert.ok(scripts['start'] && scripts['test']);
  assert.match(await read('.ci/run'), /^npm ci && npm run docs && npm test$/m);
});
