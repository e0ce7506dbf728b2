import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { publishedReason } from '../../apps/server/src/domain/failure-reason.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { register } from '../callbacks/endpoints-harness.ts';
import { assertError, assertSuccess } from '../contract/assertions.ts';
import { eventually } from '../support/eventually.ts';
import { type HttpReceiver, startHttpReceiver } from '../support/http-receiver.ts';
import { type Answer, send, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { logIn } from './browser.ts';
import { addMachine } from './machine.ts';

/** GET /operator/v1/transactions/{transaction_id} and its timeline. */

const bank: Rail = {
  name: 'bank-one',
  reaches: () => true,
  inquireAccount: () =>
    Promise.resolve({ kind: 'verdict', verdict: { status: 'ACTIVE', accountName: 'BUDI SANTOSO' }, railCode: '00' }),
  inquireStatus: () => Promise.resolve({ kind: 'status', status: 'PROCESS', railCode: '2003600', reversed: false }),
  close: () => Promise.resolve(),
};

let service: TestService;
let receiver: HttpReceiver;
let token: string;

before(async () => {
  receiver = await startHttpReceiver();
  service = await startTestService({ rails: [bank] });
  ({ token } = await service.addClient('operator', ['operator:read']));
});
after(async () => {
  await receiver?.close();
  await service?.close();
});

const PATH = '/operator/v1/transactions/TB0000000001';
const read = (path: string, bearer = token): Promise<Answer> =>
  send(service.operatorUrl + path, { headers: { authorization: `Bearer ${bearer}` } });

interface Entry {
  readonly at: string;
  readonly kind: string;
  readonly text: string;
  readonly facts: readonly { readonly name: string; readonly value: string | null }[];
}

const timelineOf = async (path = PATH, query = ''): Promise<readonly Entry[]> =>
  assertSuccess(await read(`${path}/timeline${query}`))['entries'] as readonly Entry[];

const kindsOf = (entries: readonly Entry[]): string[] => entries.map(({ kind }) => kind);

test('from the check of the account to the callback: everything in order', async () => {
  const account = { bank_code: '014', account_number: '1234567890' };
  assertSuccess(await service.checkAccount(account));
  await register(service, { url: `${receiver.url}/?key=hush` });
  // Created a moment after the check.
  const transfer = { rail: 'bank-one', rail_reference: 'P1', created_at: new Date(Date.now() + 2).toISOString() };
  assertSuccess(await service.feed(statusUpdate(transfer)));
  await eventually('the bank is asked and the check is recorded', async () => {
    assertSuccess(await service.get('/api/v1/check-status/TB0000000001'));
    const kinds = kindsOf(await timelineOf());
    return kinds.includes('bank_inquiry') && kinds.includes('account_check');
  });

  const inProcess = assertSuccess(await read(PATH));
  const { en, id } = inProcess['summary'] as { en: string; id: string };
  assert.match(en, /was sent to the bank on \d+ \w+ \d{4} at .* WIB, was accepted by the bank/);
  // The summary gives the day with each time where they differ: before midnight in Jakarta, when the limit is tomorrow.
  assert.ok(en.includes('was last asked about at the bank '), en);
  assert.match(
    id,
    /dikirim ke bank pada \d+ \w+ \d{4} pukul .* sudah diterima oleh bank, terakhir ditanyakan ke bank /,
  );
  /** Regression: the step of the schedule was given as the number of inquiries. */
  const facts = (await timelineOf()).flatMap((entry) => (entry.kind === 'bank_inquiry' ? entry.facts : []));
  assert.ok(!facts.some(({ name }) => name === 'attempts'));

  assertSuccess(await service.feed(statusUpdate({ ...transfer, status: 'SUCCESS' })));
  await eventually('the callback is delivered', async () => {
    const delivery = (await timelineOf()).find(({ kind }) => kind === 'callback_delivery');
    return delivery?.text.includes('was delivered') ?? false;
  });
  const answer = await read(`${PATH}/timeline`);
  const entries = (assertSuccess(answer) as unknown as { entries: readonly Entry[] }).entries;
  const times = entries.map(({ at }) => at);
  assert.deepEqual(
    times,
    times.toSorted((one, other) => (one < other ? -1 : 1)),
  );
  const first = (kind: string): Entry => entries.find((each) => each.kind === kind) ?? assert.fail(kind);
  assert.match(first('account_check').text, /^alpha had checked the account: it was ACTIVE$/);
  assert.match(first('created').text, /^alpha ordered the disbursement to .*, which the rail bank-one carries$/);
  assert.match(first('status_update').text, /^core reported PROCESS: it was stored$/);
  assert.equal(
    first('bank_inquiry').text,
    'The bank, asked over bank-one, answered PROCESS (code 2003600): nothing changed',
  );
  assert.deepEqual(first('bank_inquiry').facts.find(({ name }) => name === 'rail_code')?.value, '2003600');
  assert.match(first('event').text, /disbursement\.succeeded/);
  assert.match(
    first('callback_attempt').text,
    /^Attempt 1 to http:\/\/127\.0\.0\.1:\d+ was answered 200 after \d+ ms$/,
  );
  assert.doesNotMatch(answer.text, /hush|1234567890|BUDI/);
  assert.match((assertSuccess(await read(PATH))['summary'] as { en: string }).en, /arrived on \d+ \w+ \d{4} at/);
});

test('a conflict says what it contradicts, without names and numbers that the core wrote', async () => {
  const failure = { status: 'FAILED', failure_reason: 'account 9876543210 of SITI RAHAYU is closed' };
  assertSuccess(await service.feed(statusUpdate({ ...failure })));
  const text = JSON.stringify(await timelineOf());
  assert.match(text, /it contradicts what is known and was not applied/);
  assert.doesNotMatch(text, /9876543210|SITI|closed/);
  assert.ok(text.includes(publishedReason('OTHER')), text);
});

test('what operators did with it, without the reasons, which have names of customers', async () => {
  const engineer = await addMachine(service, 'engineer', ['operator:write', 'operator:unmask']);
  const act = (path: string, body: Record<string, unknown>): Promise<Answer> =>
    engineer.act('POST', path, { reason: 'SITI RAHAYU with 9876543210 asks', ...body });
  const delivery = (await timelineOf()).find(({ kind }) => kind === 'callback_delivery');
  const deliveryId = delivery?.facts.find(({ name }) => name === 'delivery_id')?.value ?? assert.fail();
  assertSuccess(await act('transactions/TB0000000001/unmask', {}));
  assertSuccess(await act(`callback-deliveries/${deliveryId}/resend`, { client_id: 'alpha' }));
  // Of another client, with the same ID: not a part of this one's timeline.
  assertSuccess(await service.feed(statusUpdate({ client_id: 'beta' })));
  assertSuccess(await act('transactions/TB0000000001/unmask?client_id=beta', {}));

  const entries = await timelineOf(PATH, '?client_id=alpha');
  assert.deepEqual(
    entries.filter(({ kind }) => kind === 'operator_action').map(({ text }) => text),
    [
      'The operator engineer looked at the account number and the name',
      'The operator engineer had a callback sent again',
    ],
  );
  assert.doesNotMatch(JSON.stringify(entries), /SITI|9876543210/);

  for (const [role, isFull] of [
    ['support', false],
    ['engineer', true],
  ] as const) {
    const browser = await logIn(service, { subject: `${role}@example.com`, name: `The ${role}`, role });
    const { text } = await browser.get('transactions/TB0000000001/timeline?client_id=alpha');
    assert.match(text, /The operator engineer looked at/);
    assert.equal(/"name":"(?:actor|origin)"/.test(text), isFull, text);
  }
});

test('an ID of two clients needs the client', async () => {
  const id = { transaction_id: 'TB0000000009', reference_id: 'nine' };
  assertSuccess(await service.feed([statusUpdate(id), statusUpdate({ ...id, client_id: 'beta' })]));
  for (const suffix of ['', '/timeline']) {
    const path = `/operator/v1/transactions/TB0000000009${suffix}`;
    assertError(await read(path), 'INVALID_REQUEST', /give client_id/);
    assertSuccess(await read(`${path}?client_id=beta`));
    assertError(await read(`${path}?client_id=core`), 'TRANSACTION_NOT_FOUND');
    assertError(await read(`${path}?client=beta`), 'INVALID_REQUEST', /client_id/);
    assertError(await read(path, service.alpha.token), 'FORBIDDEN', /operator:read/);
  }
});
