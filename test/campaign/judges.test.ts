import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { judgeCallbacks } from '../../campaign/random/callbacks.ts';
import { createCanaries } from '../../campaign/random/canaries.ts';
import { LIMITED_PER_MINUTE } from '../../campaign/random/clients.ts';
import { createDraws } from '../../campaign/random/draws.ts';
import { judgeEvents } from '../../campaign/random/events-reader.ts';
import { planFaults } from '../../campaign/random/faults.ts';
import { readAnswers } from '../../campaign/random/fuzz/raw-exchange.ts';
import { judgeAnswer } from '../../campaign/random/judge-answer.ts';
import { judgeStored, type StoredRow } from '../../campaign/random/judge-database.ts';
import { createKnownTransactions, eventsAfter, stateAfter } from '../../campaign/random/known-transactions.ts';
import { judgeOwn, judgeStart } from '../../campaign/random/limit-prober.ts';
import { createRecord } from '../../campaign/random/record.ts';
import type { RoundContext } from '../../campaign/random/round-context.ts';
import { judgeLogLine } from '../../campaign/random/service-log.ts';

/** The judges of the campaign are shown what is right, and then each kind of defect, which they must find. */

const draws = createDraws(1, 'judges');
const canaries = createCanaries(draws);

function findingsOf(judge: (record: ReturnType<typeof createRecord>) => void): readonly string[] {
  const record = createRecord();
  judge(record);
  return record.findings;
}

const assertFinds = (what: RegExp, judge: (record: ReturnType<typeof createRecord>) => void): void => {
  const findings = findingsOf(judge);
  assert.equal(findings.length, 1, findings.join('\n'));
  assert.match(findings[0] ?? '', what);
};

suite('what is stored', () => {
  const known = createKnownTransactions(draws, canaries);
  for (let count = 0; count < 40; count += 1) {
    const transaction = known.add();
    transaction.sent = transaction.plan.length;
    transaction.acknowledged = transaction.plan.length;
  }
  const rows = known.all.map((each): StoredRow => {
    const { version = 0, status = '' } = stateAfter(each, each.acknowledged) ?? {};
    const events = eventsAfter(each, each.acknowledged).length;
    return {
      client_id: each.owner,
      transaction_id: each.transactionId,
      status,
      version,
      amount: each.amount,
      inserted: 1,
      moved: each.plan[0]?.status === 'PROCESS' ? events : events - 1,
    };
  });
  const changed = (change: Partial<StoredRow>) => rows.map((row, at) => (at === 3 ? { ...row, ...change } : row));

  test('is right as it was fed', () => {
    assert.deepEqual(
      findingsOf((record) => judgeStored({ known, record }, rows)),
      [],
    );
  });
  for (const [name, defect] of Object.entries({
    'an acknowledged transaction is lost': rows.slice(1),
    'a line is stored twice': changed({ inserted: 2 }),
    'a version has a gap': changed({ version: 9 }),
    'another status': changed({ status: 'PENDING' }),
    'another amount': changed({ amount: '0.01' }),
    'another owner': changed({ client_id: 'fuzz' }),
  })) {
    test(`is found wrong when ${name}`, () =>
      assertFinds(/not stored exactly once/, (record) => judgeStored({ known, record }, defect)));
  }

  const events = known.all
    .filter(({ owner }) => owner === 'alpha')
    .flatMap((each) => eventsAfter(each, each.acknowledged))
    .map(({ eventId, kind, version }, at) => ({ sequence: at + 1, event_id: eventId, type: kind, version }));
  const judged = (listed: typeof events) => (record: ReturnType<typeof createRecord>) =>
    judgeEvents({ known, record } as unknown as RoundContext, 'alpha', listed);

  test('has its events, and a missing, a repeated and a reversed one are found', () => {
    assert.deepEqual(findingsOf(judged(events)), []);
    assertFinds(/events are missing/, judged(events.slice(1)));
    const repeated = findingsOf(judged([...events, ...events.slice(0, 1)]));
    assert.match(repeated.join(), /was never fed, or is there twice/);
    assert.match(findingsOf(judged(events.toReversed())).join(), /out of order/);
  });

  test('has its callbacks, and a missing one is found', async () => {
    const endpoint = { owner: 'alpha', path: '/alpha', kinds: events.map(({ type }) => type) } as const;
    const judge = async (arrived: readonly string[]): Promise<readonly string[]> => {
      const record = createRecord();
      const receiver = { arrived: () => new Set(arrived) } as unknown as Parameters<typeof judgeCallbacks>[1];
      const context = { known, record, settleEnds: AbortSignal.abort() } as unknown as RoundContext;
      await judgeCallbacks(context, receiver, [endpoint], async () => {});
      return record.findings;
    };
    const ids = events.map(({ event_id }) => event_id);
    assert.deepEqual(await judge(ids), []);
    assert.match((await judge(ids.slice(1))).join(), /callbacks are missing/);
  });
});

suite('a log line', () => {
  const number = canaries.accountNumber();
  canaries.add('a-client-secret');
  let isDisturbed = false;
  const judged = (line: string) => (record: ReturnType<typeof createRecord>) =>
    judgeLogLine(line, {
      record,
      canaries,
      name: 'service',
      mayLoseAuditRecords: () => isDisturbed,
      onLimitsAlone() {},
    });

  test('is right without a canary, also with masked numbers and times', () => {
    const line = `{"level":40,"time":"2026-11-21T04:32:31.402Z","at":${Date.now()},"account":"******${number.slice(-4)}"}`;
    assert.deepEqual(findingsOf(judged(line)), []);
  });
  test('of lost audit records is right only where PostgreSQL was disturbed', () => {
    const line = '{"level":50,"lost":11,"msg":"audit records lost at shutdown"}';
    assertFinds(/an error is logged/, judged(line));
    isDisturbed = true;
    assert.deepEqual(findingsOf(judged(line)), []);
    assertFinds(/an error is logged/, judged('{"level":50,"msg":"another"}'));
  });
  for (const canary of [number, `00${number}`, canaries.accountName(), 'A-Client-Secret']) {
    test(`is found wrong with ${canary}`, () =>
      assertFinds(/holds a number, name or secret/, judged(`{"level":30,"msg":"checked","account":"${canary}"}`)));
  }
  test('is found wrong when it is an error, or no JSON', () => {
    assertFinds(/an error is logged/, judged('{"level":50,"msg":"request failed"}'));
    assertFinds(/not JSON/, judged('Error: at file.ts:1'));
  });
});

suite('an answer', () => {
  const headers = { 'content-type': 'application/json; charset=utf-8', 'retry-after': '1' };
  const error = (code: string, message = 'Wait') => JSON.stringify({ success: false, message, error_code: code });
  const judged =
    (status: number, text: string, changes: Record<string, string> = {}) =>
    (record: ReturnType<typeof createRecord>) =>
      judgeAnswer({ status, headers: { ...headers, ...changes }, text }, 'GET /', '/api/v1/banks', {
        record,
        canaries,
      });

  test('is right in the envelope, and as a documented 503', () => {
    assert.deepEqual(findingsOf(judged(200, '{"success":true,"message":"","data":{},"meta":{}}')), []);
    assert.deepEqual(findingsOf(judged(503, error('SERVICE_UNAVAILABLE'))), []);
  });
  test('is found wrong as any other 5xx, without Retry-After, outside the envelope, and with a canary', () => {
    assertFinds(/5xx that is not documented/, judged(500, error('INTERNAL_ERROR')));
    assertFinds(/no Retry-After/, judged(503, error('SERVICE_UNAVAILABLE'), { 'retry-after': '' }));
    assertFinds(/not in the envelope/, judged(404, '{"statusCode":404,"error":"Not Found"}'));
    assertFinds(/not in the envelope/, judged(200, '{"success":true,"data":{}}'));
    assertFinds(/an error holds/, judged(400, error('INVALID_FORMAT', `${canaries.accountNumber()} is no number`)));
  });
  test('is read from the bytes of a connection, up to the first that is incomplete', () => {
    const one = 'HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}';
    assert.deepEqual(
      readAnswers(`HTTP/1.1 100 Continue\r\nx: y\r\n\r\n${one}${one}${one.slice(0, -1)}`).map(({ status, text }) => [
        status,
        text,
      ]),
      [
        [404, '{}'],
        [404, '{}'],
      ],
    );
  });
});

test('a seed plans the same faults again, and a shorter round the first of them', () => {
  const plan = (loadMs: number) => planFaults(createDraws(12, 'faults'), loadMs, 2);
  assert.deepEqual(plan(30_000), plan(30_000));
  const short = plan(10_000);
  assert.ok(short.length > 3);
  assert.deepEqual(plan(30_000).slice(0, short.length), short);
});

test('a number is found in any text, but not among the decimals of a sum', () => {
  const number = canaries.accountNumber();
  assert.equal(canaries.find(`bank_seconds_sum{bank="${number}"} 2`), number);
  assert.equal(canaries.find(`bank_seconds_sum{bank="BCA"} ${number}`), number);
  assert.equal(canaries.find(`account 00${number}.`), number);
  assert.equal(canaries.find(`bank_seconds_sum{bank="BCA"} 0.00${number}001`), null);
});

test('a limit that admits one request too many, or refuses one too early, is found', () => {
  const judged = (status: number, admitted: number, unknown: number) => (record: ReturnType<typeof createRecord>) =>
    judgeOwn({ record }, { name: 'service' }, status, { admitted, unknown });
  assert.deepEqual(findingsOf(judged(404, LIMITED_PER_MINUTE, 0)), []);
  assert.deepEqual(findingsOf(judged(429, LIMITED_PER_MINUTE - 1, 1)), []);
  assertFinds(/admits too many/, judged(404, LIMITED_PER_MINUTE + 1, 0));
  assertFinds(/refuses too early/, judged(429, LIMITED_PER_MINUTE - 1, 0));
  const ofStart = (admitted: number) => (record: ReturnType<typeof createRecord>) =>
    judgeStart({ record }, { name: 'service' }, { admitted, unknown: 0 });
  assert.deepEqual(findingsOf(ofStart(LIMITED_PER_MINUTE)), []);
  assertFinds(/more than a share/, ofStart(LIMITED_PER_MINUTE + 1));
});
