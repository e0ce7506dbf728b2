import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { type CountingBanks, startCountingBanks } from '../account-validations/counting-banks.ts';
import { createRail } from '../rails/connection.ts';
import { eventually } from '../support/eventually.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { startTestService, testBanks } from '../support/service.ts';
import { accountRows, csvFile, type FileRow, isGood, type WrittenFile, workbookFile } from './account-files.ts';
import { type Cli, createCli, loginOf } from './cli-process.ts';

/**
 * Set it in the environment for every format and encoding: ROWS=5000 npx node --test test/cli/check-file-killed.test.ts
 */
const ROWS = Number(process.env['ROWS'] ?? 120);
const IS_FULL = process.env['ROWS'] !== undefined;
const BANKS = 10;
/** The quotas set the pace, so that the file is still being checked when the program is killed. */
const PER_SECOND = IS_FULL ? 40 : 8;
const LONG_MS = 120_000;

interface Form {
  readonly name: string;
  readonly write: (rows: readonly FileRow[]) => WrittenFile | Promise<WrittenFile>;
  readonly delimiter: string;
}

const FORMS: readonly Form[] = [
  {
    name: 'windows-1252.csv',
    delimiter: ';',
    write: (rows) => csvFile(rows, { delimiter: ';', encoding: 'windows-1252' }),
  },
  { name: 'book.xlsx', delimiter: ',', write: workbookFile },
  { name: 'utf-8.csv', delimiter: ',', write: (rows) => csvFile(rows, { delimiter: ',', encoding: 'utf-8' }) },
  { name: 'utf-16le.csv', delimiter: '\t', write: (rows) => csvFile(rows, { delimiter: '\t', encoding: 'utf-16le' }) },
];

for (const form of IS_FULL ? FORMS : FORMS.slice(0, 1)) {
  test(`${ROWS} rows of ${form.name}, killed three times: each row is answered once, each account asked once`, (context) =>
    checkWithKills(context, form));
}

async function checkWithKills(context: TestContext, { name, write, delimiter }: Form): Promise<void> {
  const banks = testBanks
    .list()
    .filter(({ accountNumberLength }) => accountNumberLength === undefined)
    .slice(0, BANKS);
  const rows = accountRows(
    ROWS,
    banks.map(({ clearingCode }) => clearingCode ?? ''),
  );
  const { cli, counting, validations } = await start(
    context,
    banks.map(({ bic }) => bic),
  );
  const { bytes, expected } = await write(rows);
  await writeFile(path.join(cli.home, name), bytes);
  const command = ['check-file', name, '-o', 'out.csv', '--json'];
  const state = path.join(cli.home, 'out.csv.tiba-run.json');
  const output = path.join(cli.home, 'out.csv');
  const accounts = new Set(rows.filter(isGood).map(({ bank, account }) => `${bank} ${account}`));

  // The first time as soon as its state is on the disk, which is before the service has answered.
  await killWhen(cli, command, () => existsSync(state));
  assert.equal(existsSync(output), false);
  for (const share of [1 / 3, 2 / 3]) {
    await killWhen(cli, command, () => counting.total() >= accounts.size * share);
    assert.equal(existsSync(output), false, 'results appear as a whole or not at all');
  }
  await copyFile(state, `${state}.kept`);
  const { code, stdout, stderr } = await cli.run(command);
  assert.equal(code, 3, stderr);

  assert.equal(counting.byAccount.size, accounts.size);
  assert.deepEqual([...new Set(counting.byAccount.values())], [1], 'each account is asked once');
  assert.equal((await validations()).length, 1);
  const content = await readFile(output);
  assertRows(parse(content, { bom: true, delimiter, columns: true }), rows, expected);
  assert.deepEqual((await readdir(cli.home)).filter((file) => file.startsWith('out.csv')).sort(), [
    'out.csv',
    'out.csv.tiba-run.json.kept',
  ]);
  const summary = JSON.parse(stdout);
  const good = rows.filter(isGood).length;
  assert.deepEqual(summary.results, { valid: good, invalid: 0, unknown: 0, rejected: ROWS - good });
  assert.equal(summary.resumed, true);

  // Killed after the results were written and before the state was removed: the next start finds the same results.
  await copyFile(`${state}.kept`, state);
  assert.equal((await cli.run(command)).code, 3);
  assert.deepEqual(await readFile(output), content);
  assert.deepEqual([...new Set(counting.byAccount.values())], [1]);
  context.diagnostic(
    `${ROWS} rows, ${accounts.size} accounts, ${counting.total()} inquiries, ${ROWS - good} bad lines`,
  );
}

interface Started {
  readonly cli: Cli;
  readonly counting: CountingBanks;
  readonly validations: () => Promise<readonly unknown[]>;
}

async function start(context: TestContext, bics: readonly string[]): Promise<Started> {
  const counting = await startCountingBanks(context, bics);
  const rails = counting.banks.map(({ bic, baseUrl }) =>
    createRail(baseUrl, rsaKeys(), { name: bic, ownBank: bic, banks: new Set([bic]) }),
  );
  const limits = { perSecond: PER_SECOND, perDay: null, concurrencyMax: null, isShared: false };
  const service = await startTestService({
    rails,
    inquiries: { limitsByRail: new Map(rails.map(({ name }) => [name, limits])) },
  });
  context.after(() => service.close());
  const cli = await createCli(loginOf(service));
  context.after(() => cli.remove());
  return {
    cli,
    counting,
    async validations() {
      const { json } = await service.get('/api/v1/account-validations');
      return json.data?.['validations'] as unknown[];
    },
  };
}

/** Starts the program and kills it with SIGKILL when the condition is true. */
async function killWhen(cli: Cli, command: readonly string[], condition: () => boolean): Promise<void> {
  const running = cli.start(command);
  await eventually('it is time to kill the program', condition, LONG_MS);
  assert.equal(running.child.exitCode, null, `it has ended: ${running.stderr()}`);
  await running.end('SIGKILL');
}

/** The results have the rows of the file in its order, with its cells and the right answers. */
function assertRows(
  found: readonly Record<string, string>[],
  rows: readonly FileRow[],
  expected: WrittenFile['expected'],
): void {
  assert.deepEqual(
    found.map((row) => ({ line: Number(row['tiba_line']), cells: Object.values(row).slice(0, 5) })),
    expected.map(({ line, cells }) => ({ line, cells })),
  );
  assert.deepEqual(
    found.map((row) => row['tiba_result']),
    rows.map((row) => (isGood(row) ? 'valid' : 'rejected')),
  );
  for (const [index, { kind }] of rows.entries()) {
    const answer = found[index] ?? {};
    if (kind === 'eaten-zeros') assert.match(answer['tiba_message'] ?? '', /8 digits.*zeros at the start are lost/);
    if (kind === 'unknown-bank') assert.equal(answer['tiba_error_code'], 'INVALID_BANK_CODE');
    if (kind === 'good') assert.equal(answer['tiba_status'], 'ACTIVE');
  }
}
