import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { publishedReason } from '../../apps/server/src/domain/failure-reason.ts';
import { type Answer, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { assertSuccess, TIMESTAMP } from './assertions.ts';

/** docs/contract.md 2.2, 2.5 (amounts and times), 3.1, 4.1 and 4.2. */

/** In the order of docs/contract.md 2.2. */
const FIELDS = [
  'transaction_id',
  'reference_id',
  'status',
  'amount',
  'fee',
  'total_amount',
  'bank_code',
  'bank_name',
  'account_number',
  'account_name',
  'description',
  'created_at',
  'processed_at',
  'failure_reason',
];

const IN_PROCESS = statusUpdate({ transaction_id: 'TB0000000001', reference_id: 'in process' });
const SUCCEEDED = statusUpdate({
  transaction_id: 'TB0000000002',
  reference_id: 'succeeded',
  status: 'SUCCESS',
  processed_at: '2026-11-21T11:40:00.5+07:00',
});
const FAILED = statusUpdate({
  transaction_id: 'TB0000000003',
  reference_id: 'failed',
  status: 'FAILED',
  processed_at: '2026-11-21T04:41:00Z',
  failure_reason: 'ACCOUNT_INACTIVE',
});

let service: TestService;
before(async () => {
  service = await startTestService();
  await apply(IN_PROCESS, SUCCEEDED, FAILED);
});
after(() => service?.close());

async function apply(...words: Record<string, unknown>[]): Promise<void> {
  const { json } = await service.feed(words);
  const { inserted = 0, advanced = 0 } = json.data as Record<string, number>;
  assert.equal(inserted + advanced, words.length, JSON.stringify(json));
}

const byId = (id: string): Promise<Answer> => service.get(`/api/v1/check-status/${id}`);
const byReference = (id: string): Promise<Answer> =>
  service.get(`/api/v1/check-status?reference_id=${encodeURIComponent(id)}`);

suite('4.1 and 4.2 both forms', () => {
  test('by transaction ID, by reference ID in the path, by reference ID in the query: the same data', async () => {
    const answers = [await byId('TB0000000002'), await byId('succeeded'), await byReference('succeeded')];
    const [first, ...others] = answers.map(({ text }) => text.replace(/,"meta".*/, ''));
    assert.ok(answers[0]?.text.includes('"transaction_id":"TB0000000002"'));
    for (const other of others) assert.equal(other, first);
  });
});

suite('2.2 transaction', () => {
  test('has exactly the fields of the contract, all present, in its order, in every status', async () => {
    for (const id of ['TB0000000001', 'TB0000000002', 'TB0000000003']) {
      assert.deepEqual(Object.keys(assertSuccess(await byId(id))), FIELDS);
    }
  });

  test('each field has the type of the contract and the value from the feed', async () => {
    assert.deepEqual(assertSuccess(await byId('TB0000000003')), {
      transaction_id: 'TB0000000003',
      reference_id: 'failed',
      status: 'FAILED',
      amount: 150000,
      fee: 2500,
      total_amount: 152500,
      bank_code: '014',
      bank_name: 'Bank Central Asia',
      account_number: '1234567890',
      account_name: 'BUDI SANTOSO',
      description: 'Refund',
      created_at: '2026-11-21T04:32:26.123Z',
      processed_at: '2026-11-21T04:41:00.000Z',
      failure_reason: publishedReason('ACCOUNT_INACTIVE'),
    });
  });

  test('the account number keeps its leading zeros', async () => {
    await apply(statusUpdate({ transaction_id: 'TB0000000004', reference_id: 'zeros', account_number: '0001234567' }));
    assert.equal(assertSuccess(await byId('zeros'))['account_number'], '0001234567');
  });

  test('times are ISO 8601, UTC, with milliseconds, whatever time zone the feed used', async () => {
    const { created_at, processed_at } = assertSuccess(await byId('TB0000000002'));
    assert.match(String(created_at), TIMESTAMP);
    assert.equal(processed_at, '2026-11-21T04:40:00.500Z');
  });

  test('text with quotes, backslashes and characters beyond ASCII is returned unchanged', async () => {
    const text = '"\\/\u2028 </script> ,"data":{} é 🎉';
    await apply(
      statusUpdate({ transaction_id: 'TB0000000005', reference_id: text, account_name: text, description: text }),
    );
    const data = assertSuccess(await byReference(text));
    assert.deepEqual([data['reference_id'], data['account_name'], data['description']], [text, text, text]);
  });
});

suite('amounts', () => {
  /** amount, fee, and how amount, fee and total_amount must be printed in the JSON. */
  const AMOUNTS = [
    ['150000', '2500', '150000.00', '2500.00', '152500.00'],
    ['150000.5', '0', '150000.50', '0.00', '150000.50'],
    ['0.01', '0.02', '0.01', '0.02', '0.03'],
    ['0.1', '0.2', '0.10', '0.20', '0.30'],
    ['9007199254740993.01', '0.02', '9007199254740993.01', '0.02', '9007199254740993.03'],
    [
      '9007199254740993.01',
      '9007199254740993.01',
      '9007199254740993.01',
      '9007199254740993.01',
      '18014398509481986.02',
    ],
    ['999999999999999999.99', '0.01', '999999999999999999.99', '0.01', '1000000000000000000.00'],
    ['9007199254740993', '2', '9007199254740993.00', '2.00', '9007199254740995.00'],
    ['1.10', '2.9', '1.10', '2.90', '4.00'],
  ] as const;

  for (const [index, [amount, fee, ...printed]] of AMOUNTS.entries()) {
    test(`${amount} and ${fee} are printed exactly, with two decimals: ${printed.join(', ')}`, async () => {
      const id = `AM${String(index).padStart(6, '0')}`;
      await apply(statusUpdate({ transaction_id: id, reference_id: id, amount, fee }));
      for (const { text } of [await byId(id), await byReference(id)]) {
        assert.ok(text.includes(`"amount":${printed[0]},"fee":${printed[1]},"total_amount":${printed[2]},`), text);
      }
    });
  }

  test('an amount in the feed that no binary float can represent stays exact', async () => {
    const line = JSON.stringify(
      statusUpdate({ transaction_id: 'AM999999', reference_id: 'AM999999', amount: 0, fee: 0 }),
    );
    const exact = line.replace('"amount":0', '"amount":9007199254740993.01').replace('"fee":0', '"fee":0.99');
    assert.equal((await service.feed(exact)).json.data?.['inserted'], 1);
    const { text } = await byId('AM999999');
    assert.ok(text.includes('"amount":9007199254740993.01,"fee":0.99,"total_amount":9007199254740994.00,'), text);
  });
});

suite('3.1 transaction status', () => {
  test('PROCESS: processed_at and failure_reason are null', async () => {
    const { status, processed_at, failure_reason } = assertSuccess(await byId('in process'));
    assert.deepEqual(
      { status, processed_at, failure_reason },
      { status: 'PROCESS', processed_at: null, failure_reason: null },
    );
  });

  test('SUCCESS: processed_at is set, failure_reason is null', async () => {
    const { status, processed_at, failure_reason } = assertSuccess(await byId('succeeded'));
    assert.deepEqual([status, processed_at, failure_reason], ['SUCCESS', '2026-11-21T04:40:00.500Z', null]);
  });

  test('FAILED: failure_reason is set', async () => {
    const { status, failure_reason } = assertSuccess(await byId('failed'));
    assert.deepEqual([status, failure_reason], ['FAILED', publishedReason('ACCOUNT_INACTIVE')]);
  });

  test('a change is visible to the next read', async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = `RT${String(round).padStart(6, '0')}`;
      await apply(statusUpdate({ transaction_id: id, reference_id: id }));
      assert.equal(assertSuccess(await byId(id))['status'], 'PROCESS');
      await apply({
        client_id: 'alpha',
        transaction_id: id,
        status: round % 2 === 0 ? 'SUCCESS' : 'FAILED',
        failure_reason: round % 2 === 0 ? null : 'OTHER',
      });
      assert.equal(assertSuccess(await byReference(id))['status'], round % 2 === 0 ? 'SUCCESS' : 'FAILED');
    }
  });

  test('SUCCESS and FAILED are final: no later status update changes them', async () => {
    const before = (await byId('succeeded')).json.data;
    const { client_id, transaction_id } = SUCCEEDED;
    const known = { client_id, transaction_id };
    await service.feed([
      { ...known, status: 'FAILED', failure_reason: 'No' },
      { ...known, status: 'PROCESS' },
    ]);
    assert.deepEqual((await byId('succeeded')).json.data, before);
  });

  test('reading changes nothing: check-status emits no events', async () => {
    const count = "select count(*)::int as n from tiba.status_updates where source <> 'clock'";
    const [before] = await service.app.database.query(count);
    await byId('in process');
    await byReference('in process');
    assert.deepEqual(await service.app.database.query(count), [before]);
  });
});
