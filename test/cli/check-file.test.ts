import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, suite, type TestContext, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { changeClient } from '../../apps/server/src/postgres/clients.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { type Cli, createCli, loginOf } from './cli-process.ts';

let service: TestService;
let cli: Cli;
before(async () => {
  service = await startTestService();
  // The numbers of these files follow each other.
  await changeClient(service.app.database, 'alpha', 'trust');
  await service.app.clients.reload();
  cli = await createCli(loginOf(service));
});
after(async () => {
  await cli?.remove();
  await service?.close();
});

/** Runs `tiba check-file` on a file with this content, in a folder of its own. */
async function checkFile(content: string, args: readonly string[] = [], name = 'accounts.csv') {
  const folder = await mkdtemp(path.join(cli.home, 'files-'));
  const output = path.join(folder, 'out.csv');
  const input = path.join(folder, name);
  await writeFile(input, content);
  const run = (more: readonly string[] = []) => cli.run(['check-file', input, '-o', output, ...args, ...more]);
  const end = await run();
  const text = existsSync(output) ? await readFile(output, 'utf8') : null;
  const rows = text === null ? null : (parse(text, { columns: true, bom: true }) as Record<string, string>[]);
  return { ...end, run, folder, output, input, text, rows };
}

async function validations(): Promise<number> {
  const { json } = await service.get('/api/v1/account-validations');
  return ((json.data ?? {})['validations'] as unknown[]).length;
}

suite('the answers', () => {
  test('of a file: verdicts, names and reasons stand in its rows; the summary counts them, by bank too', async () => {
    const { code, stdout, stderr, rows, text } = await checkFile(
      'bank,no rek,nama,ket\n' +
        'BCA,1234567890,Kartika Prasetyo,=1+1\n' +
        'bank bca,1234567890,Budi Santoso,other name\n' +
        '014,1234560404,,\n' +
        'Bank Rakyat Indonesia,99990503,,\n' +
        'BCA,1234567890,Kartika Prasetyo,again\n' +
        'NOBANK,1234567890,,\n',
    );
    assert.equal(code, 3, stderr);
    assert.deepEqual(
      rows?.map((row) => [row['tiba_line'], row['tiba_result'], row['tiba_status'], row['tiba_name_match']]),
      [
        ['2', 'valid', 'ACTIVE', 'MATCH'],
        ['3', 'valid', 'ACTIVE', 'NO_MATCH'],
        ['4', 'invalid', 'NOT_FOUND', ''],
        ['5', 'unknown', '', ''],
        ['6', 'valid', 'ACTIVE', 'MATCH'],
        ['7', 'rejected', '', ''],
      ],
    );
    assert.deepEqual(
      rows?.map((row) => row['ket']),
      ["'=1+1", 'other name', '', '', 'again', ''],
      'a formula is guarded, everything else is kept',
    );
    assert.equal(rows?.[0]?.['tiba_account_name'], 'KARTIKA PRASETYO');
    assert.equal(rows?.[3]?.['tiba_error_code'], 'SERVICE_UNAVAILABLE');
    assert.equal(text?.startsWith('bank,'), true, 'without a byte order mark, as the file');
    assert.match(stderr, /bank "bank"; account number "no rek"; name "nama"/);
    assert.match(stderr, /1 row cannot be checked:\n {2}line 7: has a bank that the service does not know/);
    assert.match(stdout, /3 valid .*\n1 invalid .*\n1 unknown .*\n1 rejected /);
    assert.match(stdout, /1 no match {2}the account has the name of another person/);
    assert.match(stdout, /Bank Central Asia +3 +1 +0 +0\n/);
    assert.match(stdout, /rows +6, of which 1 repeat an earlier one\n/);
    assert.doesNotMatch(stdout + stderr, /1234567890|KARTIKA/, 'a terminal shows no number and no name');
  });

  test('0 when every account can be paid; with --json one document', async () => {
    const { code, stdout } = await checkFile('bank;rekening\nBCA;1234567891\n', ['--json', '--separator', 'semicolon']);
    assert.equal(code, 0);
    const { results, banks, lines } = JSON.parse(stdout);
    assert.deepEqual(results, { valid: 1, invalid: 0, unknown: 0, rejected: 0 });
    assert.deepEqual(banks, [{ bank: 'Bank Central Asia', valid: 1, invalid: 0, unknown: 0, rejected: 0 }]);
    assert.deepEqual(lines, { rejected: [], zeros_lost: [], zeros_restored: [], zeros_uncertain: [] });
  });

  test('of NDJSON from standard input, where the bank is said once', async () => {
    const output = path.join(cli.home, 'stdin.csv');
    const command = ['check-file', '-', '-o', output, '--bank', 'BCA'];
    const { code, stderr } = await cli.run(command, '{"account":"1234567892"}\n{"account":1234567893}\n');
    assert.equal(code, 0, stderr);
    const rows = parse(await readFile(output), { columns: true }) as Record<string, string>[];
    assert.deepEqual(
      rows.map((row) => [row['account'], row['tiba_result']]),
      [
        ['1234567892', 'valid'],
        ['1234567893', 'valid'],
      ],
    );
  });
});

suite('zeros that a spreadsheet has removed', () => {
  const content = 'bank,account\n14,12345678\nBCA,0012345679\n';

  test('are reported with their lines, and nothing is changed', async () => {
    const { code, stderr, rows } = await checkFile(content);
    assert.equal(code, 3);
    assert.match(
      stderr,
      /line 2: has the bank code 14, which has lost a zero; correct the file, or let --restore-zeros add/,
    );
    assert.deepEqual([rows?.[0]?.['account'], rows?.[0]?.['tiba_result']], ['12345678', 'rejected']);
    assert.match(rows?.[0]?.['tiba_message'] ?? '', /bank code 14, which has lost a zero/);
  });

  test('are added by --restore-zeros, which says so', async () => {
    const { code, rows } = await checkFile(content, ['--restore-zeros']);
    assert.equal(code, 0);
    assert.equal(rows?.[0]?.['account'], '12345678');
    assert.match(rows?.[0]?.['tiba_warning'] ?? '', /checked with the zeros that were lost: 0012345678/);
  });
});

suite('what is refused before anything is asked', () => {
  test('--strict with a bad line, --dry-run, a column that cannot be found, results that would be lost', async () => {
    const before = await validations();
    const bad = 'bank,account\nBCA,1\nBCA,1234567890\n';
    const strict = await checkFile(bad, ['--strict']);
    assert.deepEqual([strict.code, strict.rows], [3, null]);
    assert.match(strict.stderr, /error: 1 row cannot be checked, so nothing was checked\nCorrect them/);
    const dry = await checkFile(bad, ['--dry-run']);
    assert.deepEqual([dry.code, dry.rows, dry.stdout], [3, null, '']);
    const unclear = await checkFile('kode,account\nBCA,1234567890\n');
    assert.equal(unclear.code, 2);
    assert.match(unclear.stderr, /which column holds the bank\? .*A "kode", B "account"\. Say it with --bank-column/);
    const workbook = await checkFile('PK\u0003\u0004 is no zip');
    assert.match(workbook.stderr, /^error: Invalid format: the file is not a readable workbook/);
    assert.equal(await validations(), before);
  });

  test('results of an earlier run, unless --overwrite; a file that was changed while its run is unfinished', async () => {
    const first = await checkFile('bank,account\nBCA,1234567894\n');
    assert.equal(first.code, 0);
    const second = await first.run();
    assert.equal(second.code, 2);
    assert.match(
      second.stderr,
      /out\.csv exists\nChoose another file, or --overwrite it: that checks all accounts again/,
    );
    assert.equal((await first.run(['--overwrite'])).code, 0);
    const state = {
      format: 1,
      started_at: '2026-11-21T00:00:00.000Z',
      service: service.url,
      client_id: 'alpha',
      input_sha256: 'other',
      accounts_sha256: 'other',
      run_id: 'x',
      parts: [],
    };
    await writeFile(`${first.output}.tiba-run.json`, JSON.stringify(state));
    const changed = await first.run();
    assert.equal(changed.code, 2);
    assert.match(changed.stderr, /an unfinished run of 2026-11-21T00:00:00.000Z was for another input/);
    assert.equal((await first.run(['--start-over', '--overwrite'])).code, 0);
  });
});

test('the file to check is never replaced, by whatever name; --start-over keeps the state until a new run begins', async () => {
  const before = await validations();
  const own = await checkFile('bank,account\nBCA,1\n', ['--strict']);
  const link = path.join(own.folder, 'link.csv');
  await symlink(own.input, link);
  for (const output of [own.input, link]) {
    const same = await cli.run(['check-file', own.input, '-o', output, '--overwrite']);
    assert.equal(same.code, 2);
    assert.match(same.stderr, /is the file to check: its results would replace it\nChoose another file/);
  }
  const state = `${own.output}.tiba-run.json`;
  await writeFile(state, 'of a run');
  assert.equal((await own.run(['--start-over'])).code, 3);
  assert.equal(await readFile(state, 'utf8'), 'of a run');
  assert.equal(await validations(), before);
});

test('after Ctrl-C the same command goes on with the same validation', async (context) => {
  const rows = Array.from({ length: 40 }, (_, row) => `BRI,77${String(row).padStart(6, '0')}`);
  const before = await validations();
  // The service accepts the file, and no progress and no result leaves it: the check is under way for certain.
  const held = Promise.withResolvers<void>();
  const { url } = await startProxy(context, { progress: held.promise });
  const own = await createCli({ ...loginOf(service), TIBA_URL: url });
  context.after(() => own.remove());
  const output = path.join(own.home, 'out.csv');
  await writeFile(path.join(own.home, 'in.csv'), `bank,account\n${rows.join('\n')}\n`);
  const running = own.start(['check-file', 'in.csv', '-o', 'out.csv']);
  await eventually('the service has the file', async () => (await validations()) === before + 1);
  const { code, stderr } = await running.end('SIGINT');
  assert.equal(code, 130, stderr);
  assert.equal(existsSync(output), false);
  held.resolve();
  const again = await own.run(['check-file', 'in.csv', '-o', 'out.csv', '--json']);
  assert.equal(again.code, 0, again.stderr);
  assert.equal(JSON.parse(again.stdout).resumed, true);
  assert.deepEqual(JSON.parse(again.stdout).results, { valid: 40, invalid: 0, unknown: 0, rejected: 0 });
  assert.equal(await validations(), before + 1);
});

test('what a proxy refuses as too large is halved; what is answered 503 is sent again', async (context) => {
  const { url, requests } = await startProxy(context, { bytesMax: 1_500, refusals: 1 });
  const small = await createCli({ ...loginOf(service), TIBA_URL: url });
  context.after(() => small.remove());
  const rows = Array.from({ length: 40 }, (_, row) => `BCA,88000000${String(row).padStart(2, '0')}`);
  await writeFile(path.join(small.home, 'in.csv'), `bank,account\n${rows.join('\n')}\n`);
  const { code, stdout, stderr } = await small.run(['check-file', 'in.csv', '-o', 'out.csv', '--json']);
  assert.equal(code, 0, stderr);
  assert.equal(JSON.parse(stdout).results.valid, 40);
  const sent = requests.filter(({ status }) => status === 202);
  assert.equal(sent.length, 2);
  assert.equal(new Set(sent.map(({ key }) => key)).size, 2);
  assert.ok(requests.some(({ status }) => status === 503) && requests.some(({ status }) => status === 413));
  const order = parse(await readFile(path.join(small.home, 'out.csv')), { columns: true }) as Record<string, string>[];
  assert.deepEqual(
    order.map((row) => `BCA,${row['account']}`),
    rows,
  );
});

interface Upload {
  readonly status: number;
  readonly key: string;
}

interface ProxyOptions {
  /** Refuses larger uploads with a page of its own. */
  readonly bytesMax?: number;
  /** Answers 503 to as many uploads, before it passes one on. */
  readonly refusals?: number;
  /** Of account validations, passes on nothing but uploads before this. */
  readonly progress?: Promise<void>;
}

/** A proxy in front of the service. */
async function startProxy(
  context: TestContext,
  { bytesMax = Number.POSITIVE_INFINITY, refusals = 0, progress = Promise.resolve() }: ProxyOptions,
): Promise<{ readonly url: string; readonly requests: Upload[] }> {
  const requests: Upload[] = [];
  let refusalsLeft = refusals;
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '' } = request;
    const body = await buffer(request);
    const isUpload = method === 'POST' && url === '/api/v1/account-validations';
    const note = (status: number): number => {
      if (isUpload) requests.push({ status, key: String(request.headers['idempotency-key']) });
      return status;
    };
    if (isUpload && body.length > bytesMax) {
      response.writeHead(note(413), { 'content-type': 'text/html' }).end('<h1>413 Request Entity Too Large</h1>');
      return;
    }
    if (isUpload && refusalsLeft > 0) {
      refusalsLeft -= 1;
      response.writeHead(note(503), { 'retry-after': '0' }).end('{"success":false,"error_code":"SERVICE_UNAVAILABLE"}');
      return;
    }
    if (url.startsWith('/api/v1/account-validations') && !isUpload) await progress;
    const headers = new Headers(request.headers as Record<string, string>);
    for (const name of ['host', 'connection', 'content-length', 'transfer-encoding', 'expect']) headers.delete(name);
    const answer = await fetch(service.url + url, { method, headers, ...(method === 'GET' ? {} : { body }) });
    response.writeHead(note(answer.status), { 'content-type': 'application/json' }).end(await answer.text());
  }
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}
