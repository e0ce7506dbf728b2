import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { statusUpdate, type TestService } from '../support/service.ts';
import { addSnapClient, call, requestToken, type SnapClient, startSnapService } from './snap-client.ts';

/** Service 36, transaction status inquiry. */

let service: TestService & { readonly snapUrl: string };
let shop: SnapClient;
let token: string;
const path = '/v1.0/transfer/status';
const inquire = (fields: Record<string, unknown>) =>
  call(service.snapUrl, shop, token, { serviceCode: '18', ...fields }, { path });

before(async () => {
  service = await startSnapService({ rails: [] });
  shop = await addSnapClient(service, 'alpha');
  token = String((await requestToken(service.snapUrl, shop)).body['accessToken']);
});

after(() => service?.close());

const feed = async (changes: Record<string, unknown>): Promise<void> => {
  const { status, text } = await service.feed(statusUpdate(changes));
  assert.equal(status, 200, text);
  assert.match(text, /"conflicts":\[\],"rejected":\[\]/);
};

const ORDER = { source_account_number: '8880001000', service_code: '18', external_id: '2026112100000001' };

suite('a transaction', () => {
  test('is found by each of its identifiers, with what the feed gave', async () => {
    await feed({ transaction_id: 'TB0000000001', reference_id: 'INV/1', ...ORDER });
    await feed({
      transaction_id: 'TB0000000001',
      status: 'SUCCESS',
      reference_id: 'INV/1',
      bank_reference: 'BCA-9',
      processed_at: '2026-11-21T04:33:00Z',
    });
    const expected = {
      responseCode: '2003600',
      responseMessage: 'Successful',
      originalReferenceNo: 'TB0000000001',
      originalPartnerReferenceNo: 'INV/1',
      originalExternalId: '2026112100000001',
      serviceCode: '18',
      transactionDate: '2026-11-21T11:32:26+07:00',
      amount: { value: '150000.00', currency: 'IDR' },
      beneficiaryAccountNo: '1234567890',
      beneficiaryBankCode: '014',
      currency: 'IDR',
      referenceNumber: 'BCA-9',
      sourceAccountNo: '8880001000',
      latestTransactionStatus: '00',
      transactionStatusDesc: 'Success',
    };
    const identifiers = [
      { originalPartnerReferenceNo: 'INV/1' },
      { originalReferenceNo: 'TB0000000001' },
      { originalExternalId: '2026112100000001', transactionDate: '2026-11-21T23:00:00+07:00' },
      {
        originalPartnerReferenceNo: 'INV/1',
        originalReferenceNo: 'BCA-9',
        amount: { value: '150000', currency: 'IDR' },
      },
    ];
    for (const each of identifiers) {
      const { status, body } = await inquire(each);
      assert.deepEqual([status, body], [200, expected], JSON.stringify(each));
    }
  });

  test('in each status has its code', async () => {
    const cases: readonly (readonly [Record<string, unknown>, string, string | undefined])[] = [
      [{ status: 'PROCESS' }, '03', undefined],
      [{ status: 'FAILED', failure_reason: 'ACCOUNT_NOT_FOUND' }, '06', '4041811'],
      [{ status: 'FAILED', failure_reason: 'INSUFFICIENT_FUNDS' }, '06', '4031814'],
      [{ status: 'FAILED', failure_reason: 'OTHER' }, '06', undefined],
      // 4091801 says as well that the first transfer succeeded: a client would take this one for paid.
      [{ status: 'FAILED', failure_reason: 'DUPLICATE' }, '06', undefined],
      [{ status: 'SUCCESS', reversed_at: '2026-11-21T05:00:00Z' }, '04', undefined],
    ];
    for (const [index, [update, latest, previous]] of cases.entries()) {
      const reference = `STATUS-${index}`;
      await feed({ transaction_id: `TB000000010${index}`, reference_id: reference, ...update });
      const { status, headers, body } = await inquire({ originalPartnerReferenceNo: reference });
      assert.equal(status, 200);
      assert.equal(body['latestTransactionStatus'], latest);
      assert.equal(body['previousResponseCode'], previous);
      assert.equal(body['serviceCode'], '18', 'as in the inquiry, where the feed gave none');
      assert.equal(headers.has('retry-after'), latest === '03');
    }
  });

  test('that is unknown, or of another client, is 4043601; a contradiction never is', async () => {
    await feed({ transaction_id: 'TB0000000002', reference_id: 'INV/2', service_code: '17', external_id: '77' });
    await feed({ client_id: 'beta', transaction_id: 'TB0000000003', reference_id: 'INV/3', external_id: '78' });
    const notFound = { responseCode: '4043601', responseMessage: 'Transaction Not Found' };
    const unknown = [
      { originalPartnerReferenceNo: 'INV/404' },
      { originalPartnerReferenceNo: 'INV/3' },
      { originalReferenceNo: 'TB0000000003' },
      { originalExternalId: '78' },
    ];
    for (const each of unknown) {
      const { status, body } = await inquire(each);
      assert.deepEqual([status, body], [404, notFound], JSON.stringify(each));
    }
    const INV2 = { originalPartnerReferenceNo: 'INV/2', serviceCode: '17' };
    const contradictions: readonly (readonly [Record<string, unknown>, string])[] = [
      [{ ...INV2, originalReferenceNo: 'TB0000000404' }, '4043618'],
      [{ ...INV2, originalExternalId: '99' }, '4043618'],
      [{ ...INV2, originalPartnerReferenceNo: 'INV/404', originalReferenceNo: 'TB0000000002' }, '4043618'],
      [{ ...INV2, serviceCode: '18' }, '4043618'],
      [{ ...INV2, amount: { value: '150000.01', currency: 'IDR' } }, '4043613'],
    ];
    for (const [fields, code] of contradictions) {
      assert.equal((await inquire(fields)).body['responseCode'], code, JSON.stringify(fields));
    }
  });

  // Regression: the newest transaction with the X-EXTERNAL-ID was the answer, as if it were the one that was meant.
  test('is not guessed: an X-EXTERNAL-ID of several days names one together with its day or another ID', async () => {
    const external = { external_id: '4711', service_code: '18' };
    const [first, second] = ['2026-11-21T04:00:00Z', '2026-11-22T04:00:00Z'];
    await feed({ ...external, transaction_id: 'TB0000000301', reference_id: 'DAY-1', created_at: first });
    await feed({
      ...external,
      transaction_id: 'TB0000000302',
      reference_id: 'DAY-2',
      created_at: second,
      status: 'SUCCESS',
    });
    const originalExternalId = '4711';
    const { status, body } = await inquire({ originalExternalId });
    assert.deepEqual(
      [status, body],
      [
        404,
        {
          responseCode: '4043618',
          responseMessage:
            'Inconsistent Request [originalExternalId names several transfers: add transactionDate or another identifier]',
        },
      ],
    );
    const named = [
      [{ transactionDate: '2026-11-21T23:59:59+07:00' }, 'DAY-1', '03'],
      [{ originalPartnerReferenceNo: 'DAY-1' }, 'DAY-1', '03'],
      [{ originalReferenceNo: 'TB0000000301' }, 'DAY-1', '03'],
      [{ transactionDate: '2026-11-22T00:00:00+07:00' }, 'DAY-2', '00'],
    ] as const;
    for (const [fields, reference, latest] of named) {
      const answer = await inquire({ originalExternalId, ...fields });
      const { originalPartnerReferenceNo, latestTransactionStatus } = answer.body;
      assert.deepEqual([originalPartnerReferenceNo, latestTransactionStatus], [reference, latest], answer.text);
    }
  });

  // Regression: "not found" invites to pay again, and a client's day may differ from that of the core at midnight.
  test('with an X-EXTERNAL-ID of another day is a contradiction, not unknown', async () => {
    const night = { transaction_id: 'TB0000000303', reference_id: 'NIGHT', external_id: '4712' };
    await feed({ ...night, created_at: '2026-11-21T17:00:01Z' });
    const { body } = await inquire({ originalExternalId: '4712', transactionDate: '2026-11-21T23:59:59+07:00' });
    assert.deepEqual(
      [body['responseCode'], body['responseMessage']],
      ['4043618', 'Inconsistent Request [transactionDate is not the day of originalExternalId]'],
    );
  });

  test('is not looked up with a field that is missing or malformed', async () => {
    const cases: readonly (readonly [Record<string, unknown>, string])[] = [
      [{}, '4003602'],
      [{ originalReferenceNo: 'BCA-9' }, '4003601'],
      [{ originalReferenceNo: 'tb0000000001', transactionDate: '2026-11-21T23:00:00+07:00' }, '4003601'],
      [{ originalPartnerReferenceNo: 'x'.repeat(65) }, '4003601'],
      [{ originalPartnerReferenceNo: 'INV/1', serviceCode: null }, '4003602'],
      [{ originalPartnerReferenceNo: 'INV/1', serviceCode: '99' }, '4003601'],
      [{ originalPartnerReferenceNo: 'INV/1', transactionDate: 'today' }, '4003601'],
      [{ originalPartnerReferenceNo: 'INV/1', amount: { value: 'much', currency: 'IDR' } }, '4003601'],
    ];
    for (const [fields, code] of cases) {
      assert.equal((await inquire(fields)).body['responseCode'], code, JSON.stringify(fields));
    }
  });

  // Regression: the message named `value`, as if it were a field of the body.
  test('has the whole name of a field of the amount in the message', async () => {
    const cases: readonly (readonly [Record<string, unknown>, string])[] = [
      [
        { value: 150_000, currency: 'IDR' },
        'Invalid Field Format [amount.value: a string of at most 64 characters, without control characters]',
      ],
      [
        { value: '150000', currency: 360 },
        'Invalid Field Format [amount.currency: a string of at most 3 characters, without control characters]',
      ],
      [{ currency: 'IDR' }, 'Invalid Mandatory Field [amount.value]'],
      [{ value: '150000' }, 'Invalid Mandatory Field [amount.currency]'],
    ];
    for (const [amount, message] of cases) {
      const { body } = await inquire({ originalPartnerReferenceNo: 'INV/1', amount });
      assert.equal(body['responseMessage'], message, JSON.stringify(amount));
    }
  });
});

suite('the fields of the order in the feed', () => {
  test('are added once, also after the end, without an event; the first value stays', async () => {
    const id = { transaction_id: 'TB0000000201', reference_id: 'ADD-1' };
    await feed({ ...id, status: 'SUCCESS' });
    const before = (await service.get('/api/v1/check-status/TB0000000201')).headers.get('etag');
    await feed({ ...id, status: 'SUCCESS', ...ORDER, external_id: '201', bank_reference: 'R-201' });
    const { body } = await inquire({ originalExternalId: '201' });
    assert.equal(body['referenceNumber'], 'R-201');
    assert.equal((await service.get('/api/v1/check-status/TB0000000201')).headers.get('etag'), before);
    const { text } = await service.feed(statusUpdate({ ...id, status: 'SUCCESS', bank_reference: 'R-202' }));
    assert.match(
      text,
      /"conflicts":\[\],"rejected":\[\],"differences":\[{"line":1,.*"reason":"bank_reference: another/,
    );
    const again = await inquire({ originalExternalId: '201' });
    assert.equal(again.body['referenceNumber'], 'R-201');
    const wrong = await service.feed(statusUpdate({ ...id, transaction_id: 'TB0000000202', service_code: '99' }));
    assert.match(wrong.text, /service_code must be one of 17, 18, 22, 23, 43/);
  });
});
