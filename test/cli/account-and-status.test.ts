import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { type Cli, createCli, documentsOf, loginOf } from './cli-process.ts';

let service: TestService;
let cli: Cli;
before(async () => {
  service = await startTestService();
  cli = await createCli(loginOf(service));
  await service.feed([
    statusUpdate({ transaction_id: 'TB0000000001', reference_id: 'INV/1' }),
    statusUpdate({
      transaction_id: 'TB0000000002',
      reference_id: 'INV/2',
      status: 'SUCCESS',
      amount: '9007199254740993.01',
      processed_at: '2026-11-21T04:34:26.123Z',
    }),
    statusUpdate({
      transaction_id: 'TB0000000003',
      reference_id: 'INV/3',
      status: 'FAILED',
      failure_reason: 'ACCOUNT_NOT_FOUND',
      processed_at: '2026-11-21T04:34:26.123Z',
      description: 'Refund \u202Eturned',
    }),
  ]);
});
after(async () => {
  await cli?.remove();
  await service?.close();
});

suite('tiba status', () => {
  test('0 when it arrived; times are local, the amount is exact, number and name are masked', async () => {
    const { code, stdout, stderr } = await cli.run(['status', 'INV/2']);
    assert.equal(stderr, '');
    assert.equal(code, 0);
    assert.match(stdout, /status +SUCCESS after 2 min/);
    assert.match(stdout, /amount +9,007,199,254,740,993\.01 \(fee 2,500\.00\)/);
    assert.match(stdout, /account +Bank Central Asia \*{6}7890 B\*{3} S\*{6}/);
    assert.match(stdout, /created +2026-11-21 11:32:26 \+07:00/);
    assert.doesNotMatch(stdout, /1234567890|SANTOSO/);
    const unmasked = await cli.run(['status', 'INV/2', '--unmasked']);
    assert.match(unmasked.stdout, /1234567890 BUDI SANTOSO/);
  });

  test('3 when it failed, with what happened and what to do; no text of the service commands the terminal', async () => {
    const { code, stdout } = await cli.run(['status', 'TB0000000003']);
    assert.equal(code, 3);
    assert.match(stdout, /reason +ACCOUNT_NOT_FOUND: The recipient account does not exist\.\n/);
    assert.match(stdout, /next +Correct the account number and disburse again\.\n/);
    assert.doesNotMatch(stdout, /\u202E/);
  });

  test('5 while it is in PROCESS, with the advice not to pay again', async () => {
    const { code, stdout } = await cli.run(['status', 'INV/1']);
    assert.equal(code, 5);
    assert.match(stdout, /It has not failed: do not pay again/);
  });

  test('many, also from standard input: in their order, a wrong ID does not spoil the others, the worst decides', async () => {
    const { code, stdout, stderr } = await cli.run(
      ['status', 'INV/3', '-', '--json'],
      '\uFEFFINV/2\r\nNONE\n\nINV/1\n',
    );
    assert.equal(code, 1);
    const found = documentsOf({ stdout });
    assert.deepEqual(
      found.map(({ id, status, error_code: error }) => [id, status ?? error]),
      [
        ['INV/3', 'FAILED'],
        ['INV/2', 'SUCCESS'],
        ['NONE', 'TRANSACTION_NOT_FOUND'],
        ['INV/1', 'PROCESS'],
      ],
    );
    assert.equal(found[1]?.['amount'], '9007199254740993.01');
    assert.equal(found[1]?.['account_number'], '1234567890');
    assert.match(stderr, /1 FAILED, 1 SUCCESS, 1 TRANSACTION_NOT_FOUND, 1 PROCESS/);
    const table = await cli.run(['status', 'INV/3', 'INV/2']);
    assert.match(
      table.stdout,
      /^ID +STATUS +AMOUNT +BANK +ACCOUNT +REASON\nINV\/3 +FAILED +150,000\.00 .*ACCOUNT_NOT_FOUND\n/,
    );
    assert.equal(table.code, 3);
  });

  test('--wait prints each one when it has ended', async () => {
    await service.feed(
      ['4', '5'].map((n) => statusUpdate({ transaction_id: `TB000000000${n}`, reference_id: `WAIT/${n}` })),
    );
    const waiting = cli.start(['status', 'WAIT/4', 'INV/2', 'WAIT/5', '--wait', '--json']);
    await waiting.untilNoted('waiting for up to 5 min');
    const end = { status: 'SUCCESS', processed_at: '2026-11-21T04:35:00.000Z' };
    for (const n of ['5', '4']) {
      await service.feed(statusUpdate({ transaction_id: `TB000000000${n}`, reference_id: `WAIT/${n}`, ...end }));
      await waiting.untilNoted(`WAIT/${n} is SUCCESS`);
    }
    const { code, stdout } = await waiting.end();
    assert.equal(code, 0);
    assert.deepEqual(
      documentsOf({ stdout }).map(({ id, status }) => [id, status].join(' ')),
      ['INV/2 SUCCESS', 'WAIT/5 SUCCESS', 'WAIT/4 SUCCESS'],
    );
  });

  test('--wait for more than may stay open polls them in batches', async () => {
    const updates = (changes: Record<string, unknown>) =>
      Array.from({ length: 21 }, (_, n) =>
        statusUpdate({ transaction_id: `TB00000001${n + 10}`, reference_id: `MANY/${n}`, ...changes }),
      );
    await service.feed(updates({}));
    const ids = updates({}).map(({ reference_id: reference }) => String(reference));
    const waiting = cli.start(['status', ...ids, '--wait', '--deadline', '8s', '--json']);
    await waiting.untilNoted('21 of them: in PROCESS');
    await service.feed(updates({ status: 'SUCCESS', processed_at: '2026-11-21T04:35:00.000Z' }));
    const { code, stdout } = await waiting.end();
    assert.equal(code, 0);
    assert.deepEqual(
      documentsOf({ stdout }).map(({ id }) => id),
      ids,
    );
  });

  test('--wait gives up at the deadline, with 5', async () => {
    const { code, stdout, stderr } = await cli.run(['status', 'INV/1', '--wait', '--deadline', '1s']);
    assert.equal(code, 5);
    assert.match(stdout, /status +PROCESS/);
    assert.match(stderr, /still in PROCESS: it has not failed, so do not pay again/);
  });

  test('--wait has one deadline for all, also for more than are looked up at once', async () => {
    const ids = Array.from({ length: 101 }, (_, n) => `ALL/${n}`);
    await service.feed(ids.map((id, n) => statusUpdate({ transaction_id: `TB00000002${n + 100}`, reference_id: id })));
    const { code, stdout, stderr } = await cli.run(['status', ...ids, '--wait', '--deadline', '1s', '--json']);
    assert.equal(code, 5);
    assert.equal(documentsOf({ stdout }).length, 101);
    assert.equal(stderr.split('waiting for up to').length, 2, stderr);
  });

  test('2 when standard input has no IDs: nothing has arrived', async () => {
    for (const ids of [['-'], ['INV/2', '-']]) {
      const { code, stderr } = await cli.run(['status', ...ids], '\r\n\n');
      assert.equal(code, 2);
      assert.match(stderr, /standard input is empty/);
    }
  });

  test('a reader that is gone makes no verdict a yes', async () => {
    const unread = cli.start(['status', 'INV/3']);
    unread.child.stdout?.destroy();
    const unnoted = cli.start(['status', 'INV/3', 'INV/2']);
    unnoted.child.stderr?.destroy();
    assert.deepEqual([(await unread.end()).code, (await unnoted.end()).code], [3, 3]);
    assert.match(unnoted.stdout(), /FAILED/);
  });
});

suite('tiba check', () => {
  test('0 for an active account, whose holder is masked; 3 for one that cannot be paid', async () => {
    const active = await cli.run(['check', 'BCA', '1234567890']);
    assert.equal(active.stderr, '');
    assert.equal(active.code, 0);
    assert.match(active.stdout, /status +ACTIVE: it can receive money\nholder +K\*{6} P\*{7}\n/);
    const missing = await cli.run(['check', '014', '1234560404', '--json']);
    assert.equal(missing.code, 3);
    assert.equal(documentsOf(missing)[0]?.['status'], 'NOT_FOUND');
  });

  test('--name: 3 for another person', async () => {
    const same = await cli.run(['check', 'BCA', '1234567890', '--name', 'Kartika Prasetyo']);
    assert.match(same.stdout, /name +MATCH: the name is the expected one/);
    assert.equal(same.code, 0);
    const other = await cli.run(['check', 'BCA', '1234567890', '--name', 'Budi Santoso']);
    assert.match(other.stdout, /name +NO_MATCH: it belongs to another person/);
    assert.equal(other.code, 3);
  });

  test('an unknown bank: 1, the code, and where to find the right one', async () => {
    const { code, stdout, stderr } = await cli.run(['check', 'NOBANK', '1234567890']);
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, /^error: INVALID_BANK_CODE: .*\nSearch for its code with `tiba banks NAME`\.\nRequest ID/);
  });
});
