import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { type HttpReceiver, startHttpReceiver } from '../support/http-receiver.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { type Cli, createCli, documentsOf, loginOf } from './cli-process.ts';

let service: TestService;
let receiver: HttpReceiver;
let cli: Cli;
let endpoint: string;
before(async () => {
  const startedMs = Date.now();
  service = await startTestService();
  receiver = await startHttpReceiver();
  cli = await createCli(loginOf(service));
  await writeFile(path.join(cli.home, 'accounts.csv'), 'bank_code,account_number\nBCA,1234567890\n');
  const added = await cli.run(['callbacks', 'add', `${receiver.url.replace('127.0.0.1', 'localhost')}/tiba`, '--json']);
  assert.equal(added.stderr, '');
  const [registered] = documentsOf(added);
  assert.match(String(registered?.['secret']), /^whsec_/);
  endpoint = String(registered?.['endpoint_id']);
  await service.feed(
    Array.from({ length: 205 }, (_, index) =>
      statusUpdate({
        transaction_id: `TB${String(index + 1).padStart(10, '0')}`,
        reference_id: `INV/${index + 1}`,
        amount: `${index + 1}000.00`,
        ...(index < 3
          ? { status: 'SUCCESS', processed_at: '2026-11-21T04:35:00.000Z' }
          : // An old one would be overdue, which is an event of its own.
            { created_at: new Date(startedMs + index).toISOString() }),
      }),
    ),
  );
  await receiver.untilReceived(3);
  // Its answer is recorded after it was received.
  const isDelivered = async (): Promise<boolean> => {
    const { code, stdout, stderr } = await cli.run(['callbacks', 'deliveries', '--state', 'delivered', '--json']);
    assert.equal(code, 0, stderr);
    return documentsOf({ stdout }).length === 3;
  };
  await eventually('three callbacks are delivered', isDelivered);
});
after(async () => {
  await cli?.remove();
  await receiver?.close();
  await service?.close();
});

/** The commands below one, such as `callbacks list`, with the help of each. */
async function commandsOf(parent: readonly string[] = []): Promise<[command: string, help: string][]> {
  const { stdout } = await cli.run([...parent, '--help']);
  const [, listed = ''] = stdout.split('\nCommands:\n');
  const names = listed
    .split('\n\n', 1)
    .join()
    .split('\n')
    .flatMap((line) => /^ {2}([a-z-]+)/.exec(line)?.[1] ?? [])
    .filter((name) => name !== 'help');
  return names.length === 0
    ? [[parent.join(' '), stdout]]
    : (await Promise.all(names.map((name) => commandsOf([...parent, name])))).flat();
}

/** What each command is given. */
const ARGUMENTS: Readonly<Record<string, () => readonly string[]>> = {
  status: () => ['INV/1', 'INV/5'],
  check: () => ['BCA', '1234567890'],
  'check-file': () => ['accounts.csv', '-o', 'checked.csv'],
  list: () => ['--limit', '3'],
  banks: () => ['mandiri'],
  events: () => ['--limit', '2'],
  listen: () => ['--print-secret'],
  'callbacks list': () => [],
  'callbacks add': () => [`${receiver.url.replace('127.0.0.1', 'localhost')}/other`],
  'callbacks enable': () => [endpoint],
  'callbacks disable': () => [endpoint],
  'callbacks rotate-secret': () => [endpoint],
  'callbacks test': () => [endpoint],
  'callbacks deliveries': () => ['--limit', '2'],
  'callbacks delivery': () => [`${endpoint}-1`],
  'callbacks replay': () => ['--endpoint', endpoint, '--from', '1h', '--state', 'missing'],
  doctor: () => [],
  login: () => ['--url', service.url, '--client-id', 'alpha', '--secret-stdin'],
  logout: () => [],
  profiles: () => [],
  completion: () => ['fish'],
};
/** Those of a sandbox of their own, which sandbox.test.ts runs with --json. */
const OF_THE_SANDBOX: readonly string[] = ['sandbox start', 'sandbox disburse', 'sandbox clock'];
/** In this order, where one needs what another has done. */
const ORDER = ['callbacks disable', 'callbacks enable', 'login', 'profiles', 'logout'];

suite('every command', () => {
  let helps: [command: string, help: string][];
  before(async () => {
    helps = await commandsOf();
  });

  test('prints one JSON document in each line with --json, and JSON lines on standard error', async () => {
    const commands = helps.map(([command]) => command);
    assert.deepEqual(commands.toSorted(), [...Object.keys(ARGUMENTS), ...OF_THE_SANDBOX].toSorted());
    const others = Object.keys(ARGUMENTS).filter((command) => !ORDER.includes(command));
    const ordered = [...ORDER, ...others];
    for (const command of ordered) {
      const args = [...command.split(' '), ...(ARGUMENTS[command]?.() ?? []), '--json'];
      const end = await cli.run(args, service.alpha.clientSecret);
      const what = `tiba ${args.join(' ')}: ${end.code} ${end.stdout}${end.stderr}`;
      assert.ok(end.code === 0 || (command === 'status' && end.code === 5), what);
      assert.ok(end.stdout.endsWith('}\n'), what);
      for (const document of documentsOf(end)) assert.equal(typeof document, 'object', what);
      for (const note of documentsOf({ stdout: end.stderr })) assert.equal(note['level'], 'info', what);
    }
  });

  test('has a help with an example, and stands in docs/cli.md', async () => {
    const page = await readFile(new URL('../../docs/cli.md', import.meta.url), 'utf8');
    for (const [command, help] of helps) {
      assert.match(page, new RegExp(`\`(?:tiba )?${command.split(' ').at(-1)}\\b`), command);
      assert.match(help, new RegExp(String.raw`\nExamples:\n {2}\$ .*tiba ${command}\b`), command);
    }
  });

  test('reports a failure as a JSON line with its code, and nothing on standard output', async () => {
    const { code, stdout, stderr } = await cli.run(['check', 'NOBANK', '1234567890', '--json']);
    assert.deepEqual([code, stdout], [1, '']);
    const {
      level,
      error_code: errorCode,
      request_id: requestId,
      advice,
    } = JSON.parse(stderr) as Record<string, unknown>;
    assert.deepEqual([level, errorCode, typeof requestId], ['error', 'INVALID_BANK_CODE', 'string']);
    assert.equal(advice, 'Search for its code with `tiba banks NAME`.');
  });

  test('ends with 2 for a wrong command line, and suggests the right one', async () => {
    const { code, stderr } = await cli.run(['statsu', 'INV/1']);
    assert.equal(code, 2);
    assert.match(stderr, /unknown command 'statsu'\n\(Did you mean status\?\)/);
    const wrong = await cli.run(['list', '--created-from', 'yesterday', '--json']);
    assert.equal(wrong.code, 2);
    assert.match(String((JSON.parse(wrong.stderr) as Record<string, unknown>)['message']), /must be a day/);
    assert.equal((await cli.run(['callbacks', 'replay'])).code, 2);
  });

  test('has no colors where NO_COLOR is set or no terminal is, and colors where they are forced', async () => {
    const escape = '\u001B[32mSUCCESS';
    assert.ok(!(await cli.run(['status', 'INV/1'])).stdout.includes(escape));
    const colored = await createCli({ ...loginOf(service), FORCE_COLOR: '1' });
    try {
      assert.ok((await colored.run(['status', 'INV/1'])).stdout.includes(escape));
    } finally {
      await colored.remove();
    }
  });
});

suite('lists', () => {
  test('end after --limit with a note, and go on to the end with --all; filters are those of the API', async () => {
    const some = await cli.run(['list', '--limit', '2']);
    assert.match(
      some.stdout,
      /^STATUS +REFERENCE .*\nPROCESS +INV\/205 .*205,000\.00 .*\*{6}7890.*\nPROCESS +INV\/204 /,
    );
    assert.match(some.stderr, /these are the newest 2; --all prints all of them/);
    const all = documentsOf(await cli.run(['list', '--all', '--json']));
    assert.equal(new Set(all.map(({ reference_id: reference }) => reference)).size, 205);
    const found = await cli.run(['list', '--status', 'SUCCESS', '--amount-to', '2000', '--json']);
    assert.deepEqual(
      documentsOf(found).map(({ reference_id: reference }) => reference),
      ['INV/2', 'INV/1'],
    );
    assert.equal(found.stderr, '');
  });

  /** Regression: a new account was told that there is no such delivery, and a wrong endpoint nothing more. */
  test('an empty list of deliveries and an unknown endpoint say what that means', async () => {
    const beta = await createCli(loginOf(service, service.beta));
    try {
      const { code, stderr } = await beta.run(['callbacks', 'deliveries']);
      assert.deepEqual([code, stderr.includes('no callback was sent yet')], [0, true], stderr);
      assert.match((await beta.run(['callbacks', 'deliveries', '--state', 'pending'])).stderr, /no such delivery/);
      assert.match(
        (await beta.run(['callbacks', 'enable', 'nope'])).stderr,
        /not found.*\n?.*See `tiba callbacks list`/,
      );
    } finally {
      await beta.remove();
    }
  });

  test('events: in order, with the cursor to go on from', async () => {
    const first = await cli.run(['events', '--limit', '2', '--json']);
    assert.deepEqual(
      documentsOf(first).map(({ sequence }) => sequence),
      [1, 2],
    );
    assert.match(first.stderr, /"next_after":2/);
    const rest = await cli.run(['events', '--after', '2']);
    assert.match(
      rest.stdout,
      /^3 {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+07:00 {2}disbursement\.succeeded {2}INV\/3 {2}SUCCESS\n/,
    );
    assert.match(rest.stderr, /these are all; the last one is \d+/);
    // Regression: the advice was --from-start, which this command does not have.
    const beyond = await cli.run(['events', '--after', '1000000']);
    assert.equal(beyond.code, 1);
    assert.match(
      beyond.stderr,
      /^error: EVENTS_RESTORED: .+\nThen run .+ with --after 0 if the service is a new sandbox/,
    );
    assert.doesNotMatch(beyond.stderr, /from-start/);
  });

  test('banks: by a part of the name, 3 when there is none', async () => {
    const { code, stdout } = await cli.run(['banks', 'central', 'asia']);
    assert.equal(code, 0);
    assert.match(stdout, /014 +CENAIDJA +.*BCA.* Bank Central Asia/);
    assert.equal((await cli.run(['banks', 'no such bank'])).code, 3);
  });

  test('callbacks: what a receiver has answered, and once more', async () => {
    const id = `${endpoint}-1`;
    const { stdout } = await cli.run(['callbacks', 'delivery', id]);
    assert.match(stdout, /state +delivered[^]*\nATTEMPT +STARTED +MS +ANSWER +BODY\n +1 .* HTTP 200/);
    const count = receiver.requests.length;
    assert.equal((await cli.run(['callbacks', 'replay', id])).code, 0);
    await receiver.untilReceived(count + 1);
    receiver.respond = (response) => response.writeHead(503).end();
    const failed = await cli.run(['callbacks', 'test', endpoint]);
    assert.equal(failed.code, 3);
    assert.match(failed.stdout, /result +not accepted\nanswer +HTTP 503/);
  });
});

suite('tiba completion', () => {
  test('suggests commands, options and their values', async () => {
    const suggested = async (...line: string[]): Promise<string> => (await cli.run(['complete', '--', ...line])).stdout;
    assert.match(await suggested('sta'), /^status\t/);
    assert.match(await suggested('status', '--wa'), /^--wait\t/);
    assert.match(await suggested('list', '--status', ''), /^PROCESS\t\nSUCCESS\t\nFAILED\t\n/);
  });
});
