import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { send, startTestService, type TestService } from '../support/service.ts';
import { dataOf, type Result, type Validation, validationsOf } from './validations.ts';

describe('account validations', () => {
  let service: TestService;
  let validations: ReturnType<typeof validationsOf>;
  before(async () => {
    service = await startTestService();
    validations = validationsOf(service);
  });
  after(() => service?.close());

  test('each row gets the result of a single check, or its fault', async () => {
    const sent = [
      { bank_code: '014', account_number: '1234567890', reference: 'INV-1' },
      { bank_code: 'bri', account_number: '8260370404', reference: '=1+1' },
      { bank_code: 'BRI', account_number: '8260370410' },
      { bank_code: 'BRI', account_number: '8260370403' },
      { bank_code: 'BRI', account_number: '8260370503' },
      { bank_code: '999', account_number: '1234567890' },
      { bank_code: 'BCA', account_number: '123456789' },
      { bank_code: 'BRI', account_number: '12a45' },
      { account_number: '1234567890' },
      { bank_code: 'BRI', account_number: '8260371111', reference: 'x'.repeat(129) },
      { bank_code: 'BRI', account_number: '' },
    ];
    const id = await validations.create(sent);
    const validation = await validations.untilEnded(id);
    assert.equal(validation.state, 'COMPLETED');
    assert.deepEqual(validation.counts, {
      active: 1,
      inactive: 1,
      not_found: 1,
      blocked: 1,
      invalid: 6,
      no_verdict: 1,
    });

    const results = (await validations.results(id)).toSorted((one, other) => one.row - other.row);
    assert.deepEqual(
      results.map(({ row, status, error_code: error }) => [row, status ?? error]),
      [
        [1, 'ACTIVE'],
        [2, 'NOT_FOUND'],
        [3, 'INACTIVE'],
        [4, 'BLOCKED'],
        [5, 'SERVICE_UNAVAILABLE'],
        [6, 'INVALID_BANK_CODE'],
        [7, 'INVALID_FORMAT'],
        [8, 'INVALID_FORMAT'],
        [9, 'INVALID_BANK_CODE'],
        [10, 'INVALID_FORMAT'],
        [11, 'INVALID_FORMAT'],
      ],
    );
    for (const [index, { bank_code: bankCode, account_number: accountNumber }] of sent.slice(0, 4).entries()) {
      const single = dataOf<Record<string, unknown>>(
        await service.checkAccount({ bank_code: bankCode, account_number: accountNumber }),
      );
      const { bank_code, bank_name, account_number, account_name, is_valid, status } = results[index] as Result;
      assert.deepEqual({ bank_code, bank_name, account_number, account_name, is_valid, status }, single);
    }
    // Without a verdict an account is neither valid nor invalid.
    assert.equal(results[4]?.['is_valid'], null);
    assert.match(String(results[4]?.['message']), /^Temporarily unavailable: .*Check it again/);
    assert.match(String(results[6]?.['message']), /have 10 digits/);
    // Regression: a field that is missing was said to be no string.
    assert.match(String(results[8]?.['message']), /bank_code is missing$/);
    assert.match(
      String(results[10]?.['message']),
      /account_number must be a string of 5 to 34 digits, and is missing$/,
    );
  });

  test('rows with the same account share one inquiry, whichever code they have for the bank', async () => {
    const before = await inquiriesSent();
    const codes = ['BRI', '002', 'BRINIDJA', 'bri'];
    const id = await validations.create(
      Array.from({ length: 40 }, (_, row) => ({ bank_code: codes[row % 4], account_number: '7770001234' })),
    );
    const { counts } = await validations.untilEnded(id);
    assert.equal(counts['active'], 40);
    assert.equal((await inquiriesSent()) - before, 1);
  });

  test('of thousands of rows with one account, 1,001 get its verdict and the others are invalid', async () => {
    const id = await validations.create(
      Array.from({ length: 3_000 }, () => ({ bank_code: 'BRI', account_number: '7770005678' })),
    );
    const { counts } = await validations.untilEnded(id);
    assert.deepEqual([counts['active'], counts['invalid']], [1_001, 1_999]);
    // Regression: the message said "more than 1000".
    const messages = new Set((await validations.results(id)).map(({ message }) => message));
    assert.deepEqual(messages, new Set([null, 'Invalid format: more than 1001 rows have this account: send it once']));
  });

  test('JSON, NDJSON and CSV have the same results, and a page continues after the last one', async () => {
    const id = await validations.create(
      Array.from({ length: 25 }, (_, row) => ({
        bank_code: 'BRI',
        account_number: String(5_550_000_000 + row),
        expected_account_name: 'Budi "B" Santoso, S.E.',
        reference: `row ${row}`,
      })),
    );
    await validations.untilEnded(id);
    const streamed = await validations.results(id);
    assert.deepEqual(
      streamed.map(({ sequence }) => sequence),
      Array.from({ length: 25 }, (_, index) => index + 1),
    );

    const paged: Result[] = [];
    for (let after = 0, more = true; more; ) {
      const page = dataOf<{ results: Result[]; next_after: number; has_more: boolean }>(
        await validations.read(id, `/results?limit=10&after=${after}`),
      );
      paged.push(...page.results);
      ({ next_after: after, has_more: more } = page);
    }
    assert.deepEqual(paged, streamed);

    const csv = await validations.read(id, '/results', 'text/csv');
    assert.equal(csv.headers.get('content-type'), 'text/csv; charset=utf-8');
    const [header, ...lines] = csv.text.trimEnd().split('\r\n');
    assert.match(header ?? '', /^sequence,row,reference,bank_code,/);
    assert.deepEqual(
      lines.map((line) => line.split(',').slice(0, 3)),
      streamed.map(({ sequence, row, reference }) => [String(sequence), String(row), reference]),
    );
  });

  test('no cell of the CSV is a formula for a spreadsheet program', async () => {
    const id = await validations.create([
      { bank_code: 'BRI', account_number: '5551234567', reference: '=HYPERLINK("x"); +1' },
    ]);
    await validations.untilEnded(id);
    const { text } = await validations.read(id, '/results', 'text/csv');
    assert.match(text.split('\r\n')[1] ?? '', /^1,1,"'=HYPERLINK\(""x""\);' \+1",/);
  });

  /** The cells of the CSV, of rows with these references. */
  async function referenceCells(references: readonly string[]): Promise<(string | undefined)[]> {
    const id = await validations.create(
      references.map((reference) => ({ bank_code: 'BRI', account_number: '5551234567', reference })),
    );
    await validations.untilEnded(id);
    const [, ...lines] = (await validations.read(id, '/results', 'text/csv')).text.trimEnd().split('\r\n');
    return lines.map((line) => line.split(',')[2]);
  }

  /** Regression: a cell that begins with `|`, which calls another program, was not escaped. */
  test('no cell of the CSV begins with a pipe', async () => {
    assert.deepEqual(await referenceCells(["|calc.exe'!A1", ' |cmd', '｜cmd', 'x;|cmd', 'a|b']), [
      "'|calc.exe'!A1",
      "' |cmd",
      "'｜cmd",
      "x;'|cmd",
      'a|b',
    ]);
  });

  /** Regression: only plain signs were escaped. */
  test('no cell of the CSV is a formula with full-width signs', async () => {
    assert.deepEqual(await referenceCells(['＝1+1', '＠SUM(1)', '＋1', ' －1', 'x;＝1']), [
      "'＝1+1",
      "'＠SUM(1)",
      "'＋1",
      "' －1",
      "x;'＝1",
    ]);
  });

  test('a stream that follows a validation has every result and ends with the validation', async () => {
    const rows = Array.from({ length: 300 }, (_, row) => ({
      bank_code: 'BNI',
      account_number: String(6_000_000 + row * 7_919),
    }));
    const id = await validations.create(rows);
    const { text } = await validations.read(id, '/results?follow=true', 'application/x-ndjson');
    assert.equal(text.trimEnd().split('\n').length, 300);
    assert.equal((await validations.progress(id)).state, 'COMPLETED');
  });

  test('a client that disconnects before the first result does not count as a follower', async () => {
    const id = await validations.create([{ bank_code: 'BNI', account_number: '6123456789' }]);
    await validations.untilEnded(id);
    const { query, transaction } = service.app.database;
    const url = `${service.url}/api/v1/account-validations/${id}/results?follow=true`;
    const headers = { authorization: `Bearer ${service.alpha.token}`, accept: 'application/x-ndjson' };
    for (let time = 0; time < 4; time += 1) {
      await transaction(async (inTransaction) => {
        await inTransaction('lock table tiba.account_validations');
        const leaving = new AbortController();
        const left = assert.rejects(fetch(url, { headers, signal: leaving.signal }));
        await eventually('the validation is being read', async () => {
          const waiting = await query(
            `select from pg_stat_activity
              where wait_event_type = 'Lock'
                and query like '%account_validations where client_id = $1 and validation_id = $2'`,
          );
          return waiting.length === 1;
        });
        leaving.abort();
        await left;
        // By the time it answers another request, the service has noticed the disconnect.
        assert.equal((await service.get('/api/v1/check-status/NONE')).status, 404);
      });
    }
    await eventually(
      'the followers are admitted',
      async () => {
        const answers = await Promise.all([1, 2, 3, 4].map(() => send(url, { headers })));
        return answers.every(({ status }) => status === 200);
      },
      5_000,
    );
  });

  test('cancelling needs no body, even with a content type', async () => {
    const id = await validations.create([{ bank_code: 'BNI', account_number: '6123456789' }]);
    await validations.untilEnded(id);
    const headers = { 'content-type': 'application/json' };
    assert.equal((await validations.post(`/api/v1/account-validations/${id}/cancel`, '', headers)).status, 200);
  });

  test('the end of a validation is one event, with the validation as its data', async () => {
    const client = await service.addClient('subscriber', ['account:check', 'events:read']);
    const own = validationsOf(service, client);
    const id = await own.create([{ bank_code: 'BRI', account_number: '5559876543' }]);
    await own.untilEnded(id);
    const invalid = await own.create([{ bank_code: 'unknown', account_number: '5559876543' }]);
    assert.equal((await own.progress(invalid)).state, 'COMPLETED');
    const { events } = dataOf<{ events: { event_id: string; type: string; data: Validation }[] }>(
      await service.get('/api/v1/events', { token: client.token }),
    );
    assert.deepEqual(
      events.map(({ event_id: eventId, type, data }) => [eventId, type, data.validation_id, data.state, data.results]),
      [
        [`evt_${id}_1`, 'account_validation.ended', id, 'COMPLETED', 1],
        [`evt_${invalid}_1`, 'account_validation.ended', invalid, 'COMPLETED', 1],
      ],
    );
  });

  test("another client's validation looks like one that does not exist", async () => {
    const id = await validations.create([{ bank_code: 'BRI', account_number: '5550001111' }]);
    const other = validationsOf(service, service.beta);
    const none = 'av_00000000000000000000';
    for (const [existing, missing] of [
      [await other.read(id), await other.read(none)],
      [await other.read(id, '/results'), await other.read(none, '/results')],
      [await other.cancel(id), await other.cancel(none)],
    ] as const) {
      assert.equal(existing.status, 404);
      assert.equal(existing.text, missing.text);
    }
    const list = dataOf<{ validations: Validation[] }>(
      await service.get('/api/v1/account-validations', { token: service.beta.token }),
    );
    assert.deepEqual(list.validations, []);
  });

  test('six equal requests with one Idempotency-Key create one validation; a different one is rejected', async () => {
    const rows = [{ bank_code: 'BRI', account_number: '5552223333' }];
    const headers = { 'idempotency-key': '"payroll-2026-11"' };
    const answers = await Promise.all(Array.from({ length: 6 }, () => validations.sendRows(rows, headers)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([202]));
    assert.equal(new Set(answers.map((answer) => dataOf<Validation>(answer).validation_id)).size, 1);

    const other = await validations.sendRows([{ bank_code: 'BRI', account_number: '5552223334' }], headers);
    assert.deepEqual([other.status, other.json.error_code], [422, 'IDEMPOTENCY_KEY_REUSED']);
    // Each client has its own keys.
    const beta = await validationsOf(service, service.beta).sendRows(rows, headers);
    assert.equal(beta.status, 202);
  });

  test('no log line contains an account number or a name', async () => {
    const id = await validations.create([
      { bank_code: 'BRI', account_number: '5554443332', expected_account_name: 'SECRETIVE PERSON' },
    ]);
    await validations.untilEnded(id);
    const logged = JSON.stringify(service.logged);
    assert.ok(!logged.includes('5554443332'));
    assert.ok(!logged.includes('SECRETIVE'));
  });

  async function inquiriesSent(): Promise<number> {
    const metrics = await (await fetch(`${service.operatorUrl}/metrics`)).text();
    return [...metrics.matchAll(/^tiba_inquiries_total\{.*\} (\d+)$/gm)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    );
  }
});
