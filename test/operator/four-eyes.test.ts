import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import { verifyOperatorActions } from '../../apps/server/src/postgres/operator-actions.ts';
import { recordRestore } from '../../apps/server/src/postgres/restores.ts';
import { openSql, register } from '../callbacks/endpoints-harness.ts';
import { assertError, assertSuccess } from '../contract/assertions.ts';
import { databaseUrlOf, manage } from '../manage/manage-process.ts';
import { type Answer, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { type Browser, logIn } from './browser.ts';
import { addMachine } from './machine.ts';

/** Changes that a second person must approve: there is no way around it. */

let service: TestService;
let sql: Awaited<ReturnType<typeof openSql>>;
let engineer: Browser;
let siti: Browser;
let budi: Browser;

const SITI = { subject: 'siti@example.com', name: 'Siti Rahma', role: 'approver' } as const;
const BUDI = { subject: 'budi@example.com', name: 'Budi Santoso', role: 'approver' } as const;
const WHY = { reason: 'Ticket 4711: more payouts' };
const AGREED = 'Agreed with the client';

before(async () => {
  service = await startTestService({
    rails: [],
    settings: { fourEyes: ['limits', 'trust', 'reviews', 'replay', 'keys'] },
  });
  sql = await openSql(service);
  engineer = await logIn(service, { subject: 'eka@example.com', name: 'Eka', role: 'engineer' });
  siti = await logIn(service, SITI);
  budi = await logIn(service, BUDI);
});
after(async () => {
  await sql?.end();
  await service?.close();
});

interface Proposal extends Readonly<Record<string, unknown>> {
  readonly proposal_id: string;
  readonly payload_hash: string;
}

let accounts = 1_000;

/** A proposal of Siti's that sets a new limit of beta, and that limit. */
async function propose(by: Browser = siti): Promise<{ readonly proposal: Proposal; readonly limit: number }> {
  const limit = (accounts += 1);
  const answer = await by.act('PATCH', 'clients/beta', { ...WHY, limits: { accounts_per_day: limit } });
  assert.equal(answer.status, 202, answer.text);
  return { proposal: answer.json.data as Proposal, limit };
}

const approve = (by: Browser, { proposal_id: id, payload_hash: hash }: Proposal, headers = {}): Promise<Answer> =>
  by.act('POST', `proposals/${id}/approve`, { payload_hash: hash, reason: AGREED }, headers);

const limitOfBeta = async (): Promise<unknown> =>
  (await sql("select accounts_per_day from tiba.clients where client_id = 'beta'"))[0]?.['accounts_per_day'];

const actions = async (count: number): Promise<Record<string, unknown>[]> =>
  (assertSuccess(await engineer.get(`audit?limit=${count}`)) as { actions: Record<string, unknown>[] }).actions;

test('a change is proposed, and made once another person has approved it', async () => {
  const { four_eyes: kinds } = assertSuccess(await siti.get('session'));
  assert.deepEqual(kinds, ['limits', 'trust', 'reviews', 'replay', 'keys']);
  const limitBefore = await limitOfBeta();
  const { proposal, limit } = await propose();
  assert.deepEqual(
    [proposal['state'], proposal['proposed_by'], proposal['kinds'], proposal['client_id']],
    ['pending', `person:${SITI.subject}`, ['limits'], 'beta'],
  );
  assert.equal(await limitOfBeta(), limitBefore);
  const approved = assertSuccess(await approve(budi, proposal));
  assert.deepEqual([approved['state'], approved['decided_by_name']], ['executed', BUDI.name]);
  assert.equal(await limitOfBeta(), limit);
  const [changed, approval, proposed] = await actions(3);
  assert.deepEqual([proposed?.['action'], proposed?.['actor_name']], ['proposal create', SITI.name]);
  assert.deepEqual(
    [approval?.['action'], approval?.['actor_name'], approval?.['reason']],
    ['proposal approve', BUDI.name, AGREED],
  );
  assert.deepEqual(
    ['action', 'actor', 'actor_name', 'approved_by', 'approved_by_name', 'proposal_id', 'reason'].map(
      (name) => changed?.[name],
    ),
    [
      'client change',
      `person:${SITI.subject}`,
      SITI.name,
      `person:${BUDI.subject}`,
      BUDI.name,
      proposal['proposal_id'],
      WHY.reason,
    ],
  );
  assert.deepEqual((await verifyOperatorActions(service.app.database)).faults, []);
});

test('what needs no approval is done at once, and what is wrong is refused before it is proposed', async () => {
  await service.addClient('gamma', ['status:read']);
  assertSuccess(await engineer.act('PATCH', 'clients/gamma', { ...WHY, disabled: true }));
  const enabled = await engineer.act('PATCH', 'clients/gamma', { ...WHY, disabled: false });
  assert.equal(enabled.status, 202, enabled.text);
  assert.deepEqual(enabled.json.data?.['kinds'], ['trust']);
  const isDisabled = async (): Promise<unknown> =>
    (await sql("select disabled_at is not null as yes from tiba.clients where client_id = 'gamma'"))[0]?.['yes'];
  assert.equal(await isDisabled(), true);
  assertSuccess(await approve(budi, enabled.json.data as Proposal));
  assert.equal(await isDisabled(), false);
  const limits = { accounts_per_day: 5 };
  assertError(await siti.act('PATCH', 'clients/unknown', { ...WHY, limits }), 'NOT_FOUND');
  assertError(await siti.act('PATCH', 'clients/beta', { ...WHY, limits: { x: 1 } }), 'INVALID_REQUEST');
});

suite('a proposal is not approved', () => {
  test('by the person who made it, in this session or another', async () => {
    const { proposal } = await propose();
    const before = await limitOfBeta();
    for (const session of [siti, await logIn(service, SITI)]) {
      assertError(await approve(session, proposal), 'FORBIDDEN', /You proposed this change: another person/);
    }
    assert.equal(await limitOfBeta(), before);
  });

  test('by a person without the role, or by a machine', async () => {
    const { proposal } = await propose();
    assertError(await approve(engineer, proposal), 'FORBIDDEN', /this needs the role approver/);
    const path = `proposals/${proposal.proposal_id}/refuse`;
    assertError(await engineer.act('POST', path, { reason: AGREED }), 'FORBIDDEN', /this needs the role approver/);
    const { token } = await service.addClient('robot', ['operator:read', 'operator:write', 'operator:unmask']);
    const authorization = `Bearer ${token}`;
    // Also with the cookie of an approver beside it.
    for (const cookie of ['', budi.cookie]) {
      assertError(await approve(budi, proposal, { authorization, cookie }), 'FORBIDDEN', /a person decides/);
    }
    assertError(await approve(budi, proposal, { cookie: '' }), 'UNAUTHORIZED', /log in/);
    assertError(await approve(budi, proposal, { 'x-csrf-token': '' }), 'FORBIDDEN', /X-CSRF-Token/);
  });

  test('after it has expired', async () => {
    const { proposal } = await propose();
    const owner = new pg.Client(service.database.connection);
    await owner.connect();
    try {
      await owner.query('alter table tiba.operator_proposals disable trigger user');
      await owner.query('update tiba.operator_proposals set expires_at = now() where proposal_id = $1', [
        proposal.proposal_id,
      ]);
      await owner.query('alter table tiba.operator_proposals enable always trigger operator_proposals_unchanged');
    } finally {
      await owner.end();
    }
    assertError(await approve(budi, proposal), 'PROPOSAL_CONFLICT', /has expired, and nothing was done/);
    const { proposals } = assertSuccess(await budi.get('proposals?state=expired')) as { proposals: Proposal[] };
    assert.deepEqual(
      proposals.map((each) => each.proposal_id),
      [proposal.proposal_id],
    );
  });

  test('with another payload than the one that was read', async () => {
    const { proposal } = await propose();
    const before = await limitOfBeta();
    const other = { ...proposal, payload_hash: 'a'.repeat(64) };
    assertError(await approve(budi, other), 'PROPOSAL_CONFLICT', /differs from the one that you approve/);
    for (const wrong of ['', 'x', proposal.payload_hash.toUpperCase(), null]) {
      const body = { payload_hash: wrong, reason: AGREED };
      assertError(await budi.act('POST', `proposals/${proposal.proposal_id}/approve`, body), 'INVALID_REQUEST');
    }
    // The service's role cannot change it, and what its owner changed is noticed.
    const change = `update tiba.operator_proposals set payload = replace(payload, '${accounts}', '999999')
                     where proposal_id = '${proposal.proposal_id}'`;
    await assert.rejects(sql(change), /decided once and never changed/);
    await sql('alter table tiba.operator_proposals disable trigger user');
    await sql(change);
    await sql('alter table tiba.operator_proposals enable always trigger operator_proposals_unchanged');
    assertError(await approve(budi, proposal), 'PROPOSAL_CONFLICT', /differs from the one that you approve/);
    assert.equal(await limitOfBeta(), before);
  });

  test('when what it is about has changed since', async () => {
    const { proposal } = await propose();
    await sql("update tiba.clients set accounts_per_day = 77 where client_id = 'beta'");
    assertError(await approve(budi, proposal), 'PROPOSAL_CONFLICT', /has changed since, and nothing was done/);
    assert.equal(await limitOfBeta(), 77);
    assertError(await approve(budi, proposal), 'PROPOSAL_CONFLICT', /decided already: outdated, by Budi Santoso/);
    const [outdated] = await actions(1);
    assert.equal(outdated?.['action'], 'proposal outdated');
  });

  test('after its proposer has withdrawn it, for which no role approver is needed', async () => {
    const { proposal } = await propose(engineer);
    const path = `proposals/${proposal.proposal_id}/refuse`;
    assert.equal(assertSuccess(await engineer.act('POST', path, { reason: 'A mistake' }))['state'], 'withdrawn');
    assertError(await approve(budi, proposal), 'PROPOSAL_CONFLICT', /decided already: withdrawn, by Eka/);
    assert.equal((await actions(1))[0]?.['action'], 'proposal withdraw');
  });

  test('after the access of its proposer has ended, and before that also after a logout', async () => {
    const leaver = { subject: 'dewi@example.com', name: 'Dewi', role: 'engineer' } as const;
    const [first, second] = [await logIn(service, leaver), await logIn(service, leaver)];
    const [one, other] = [(await propose(first)).proposal, (await propose(second)).proposal];
    const session = (await sql('select proposer_session as id from tiba.operator_proposals where proposal_id = $1', [
      one.proposal_id,
    ])) as { id: string }[];
    const revoke = (body: object) => engineer.act('POST', 'sessions/revoke', { ...WHY, ...body });
    assertSuccess(await revoke({ session_id: session[0]?.id }));
    assertError(await approve(budi, one), 'PROPOSAL_CONFLICT', /decided already: outdated, by End of a session/);
    assertSuccess(await second.act('DELETE', 'session'));
    const path = `proposals/${other.proposal_id}`;
    assert.equal(assertSuccess(await budi.get(path))['state'], 'pending');
    assertSuccess(await revoke({ subject: leaver.subject }));
    const ended = assertSuccess(await budi.get(path));
    assert.deepEqual([ended['state'], ended['decided_by']], ['outdated', 'session revoke']);
    assert.match(String((await actions(1))[0]?.['after']), new RegExp(other.proposal_id));
    assertError(await approve(budi, other), 'PROPOSAL_CONFLICT', /decided already: outdated/);
  });

  test('after it was refused', async () => {
    const { proposal } = await propose();
    const refused = await budi.act('POST', `proposals/${proposal.proposal_id}/refuse`, { reason: 'Too many' });
    assert.equal(assertSuccess(refused)['state'], 'refused');
    assertError(await approve(budi, proposal), 'PROPOSAL_CONFLICT', /decided already: refused, by Budi Santoso/);
  });
});

test('of two approvals at the same time, one makes the change', async () => {
  const third = await logIn(service, { subject: 'citra@example.com', name: 'Citra', role: 'approver' });
  const { proposal, limit } = await propose();
  const answers = await Promise.all([budi, third, budi, third].map((each) => approve(each, proposal)));
  assert.deepEqual(
    answers.map(({ status }) => status).toSorted((one, other) => one - other),
    [200, 409, 409, 409],
  );
  assert.equal(await limitOfBeta(), limit);
  const [row] = await sql(
    "select count(*)::int as n from tiba.operator_actions where proposal_id = $1 and action = 'client change'",
    [proposal.proposal_id],
  );
  assert.equal(row?.['n'], 1);
});

suite('there is no way around a proposal', () => {
  const limits = { accounts_per_day: 123_456 };

  test('by an access token', async () => {
    const machine = await addMachine(service, 'machine', ['operator:read', 'operator:write']);
    const answer = await machine.act('PATCH', 'clients/beta', { ...WHY, limits });
    assertError(answer, 'FORBIDDEN', /needs the approval of a second person \(TIBA_FOUR_EYES: limits\)/);
    assert.notEqual(await limitOfBeta(), limits.accounts_per_day);
  });

  test('by what is done at once in the same request', async () => {
    const answer = await siti.act('PATCH', 'clients/beta', { ...WHY, limits, trusted: true, disabled: true });
    assert.equal(answer.status, 202);
    const [beta] = await sql("select trusted, disabled_at from tiba.clients where client_id = 'beta'");
    assert.deepEqual(beta, { trusted: false, disabled_at: null });
  });

  test('by a command, which says so and is recorded', async () => {
    const environment = { DATABASE_URL: databaseUrlOf(service.database), TIBA_FOUR_EYES: 'limits,keys,trust' };
    const command = ['client', 'limits', 'beta', '--accounts-per-day', '88'];
    const refused = await manage([...command, '--reason', 'Ticket 5'], { environment });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /--without-approval/);
    assert.notEqual(await limitOfBeta(), 88);
    const enable = await manage(['client', 'enable', 'beta', '--reason', 'Ticket 5'], { environment });
    assert.match(enable.stderr, /TIBA_FOUR_EYES has trust/);
    const done = await manage([...command, '--without-approval', 'Outage 12: no approver can be reached'], {
      environment,
    });
    assert.equal(done.code, 0, done.stderr);
    assert.equal(await limitOfBeta(), 88);
    const [action] = await actions(1);
    assert.deepEqual(
      [action?.['action'], action?.['reason']],
      ['client limits (without approval)', 'Outage 12: no approver can be reached'],
    );
  });
});

test('a review is ended by approval', async () => {
  const id = { transaction_id: 'TB0000000004', reference_id: 'four' };
  assertSuccess(await service.feed(statusUpdate({ ...id, rail: 'no-such-rail', rail_reference: 'P4' })));
  await sql(
    `update tiba.status_inquiries set unknown_since = now(), review_since = now(), next_at = now() + interval '1 day'
      where transaction_id = 'TB0000000004'`,
  );
  const answer = await engineer.act('POST', 'transactions/TB0000000004/resolve-review', WHY);
  assert.equal(answer.status, 202, answer.text);
  const inReview = async (): Promise<unknown> =>
    (await sql('select review_since is not null as in_review from tiba.status_inquiries'))[0]?.['in_review'];
  assert.equal(await inReview(), true);
  assertSuccess(await approve(budi, answer.json.data as Proposal));
  assert.equal(await inReview(), false);
});

test('a new signing key is made by approval, and not while the keys have changed since', async () => {
  const rotate = async (): Promise<Proposal> => {
    const answer = await engineer.act('POST', 'signing-keys/rotate', WHY);
    assert.equal(answer.status, 202, answer.text);
    return answer.json.data as Proposal;
  };
  const signing = async (): Promise<unknown> =>
    (await sql('select key_id from tiba.signing_keys where retired_at is null'))[0]?.['key_id'];
  const before = await signing();
  const [first, second] = [await rotate(), await rotate()];
  assert.equal(await signing(), before);
  assertSuccess(await approve(budi, first));
  const after = await signing();
  assert.notEqual(after, before);
  assertError(await approve(budi, second), 'PROPOSAL_CONFLICT', /has changed since/);
  assert.equal(await signing(), after);
});

test('proposals are listed page by page, the latest first', async () => {
  const ids: string[] = [];
  for (let query = '?limit=3'; ; ) {
    const { proposals, next_cursor: cursor } = assertSuccess(await engineer.get(`proposals${query}`)) as {
      proposals: Proposal[];
      next_cursor: string | null;
    };
    ids.push(...proposals.map((each) => each.proposal_id));
    if (cursor === null) break;
    query = `?limit=3&cursor=${cursor}`;
  }
  const rows = await sql('select proposal_id from tiba.operator_proposals order by created_at desc, proposal_id desc');
  assert.deepEqual(
    ids,
    rows.map((row) => row['proposal_id']),
  );
  assert.ok(ids.length > 8);
  assertError(await engineer.get('proposals/pr_none'), 'NOT_FOUND');
  assertSuccess(await engineer.get(`proposals/${ids[0]}`));
});

test('a replay of many callbacks is counted by one person, and begins when another one has approved it', async () => {
  const { endpointId } = await register(service);
  const order = { client_id: 'alpha', endpoint_id: endpointId, first_sequence: 1, last_sequence: 5 };
  assertSuccess(await siti.act('POST', 'callback-replays', { ...order, dry_run: true }));
  const post = () => siti.act('POST', 'callback-replays', { ...order, ...WHY }, { 'idempotency-key': 'four eyes' });
  const answer = await post();
  assert.equal(answer.status, 202, answer.text);
  assert.deepEqual(await sql('select from tiba.callback_replays'), []);
  // Proposed again, because the answer was lost.
  const again = (await post()).json.data as Proposal;
  assertSuccess(await approve(budi, answer.json.data as Proposal));
  assertSuccess(await approve(budi, again));
  const replays = await sql('select created_by, client_id from tiba.callback_replays');
  assert.deepEqual(replays, [{ created_by: `person:${SITI.subject}`, client_id: 'alpha' }]);
  const viewer = await logIn(service, { subject: 'vera@example.com', name: 'Vera', role: 'viewer' });
  for (const [reader, createdBy] of [[engineer, `person:${SITI.subject}`] as const, [viewer, null] as const]) {
    const { replays: listed } = assertSuccess(await reader.get('callback-replays')) as { replays: Proposal[] };
    const read = assertSuccess(await reader.get(`callback-replays/${String(listed[0]?.['replay_id'])}`));
    assert.deepEqual([listed[0]?.['created_by'], read['created_by']], [createdBy, createdBy]);
  }
  assert.equal((assertSuccess(await post())['replay'] as Record<string, unknown>)['client_id'], 'alpha');
});

test('a replay goes where the endpoint led when it was proposed, and no further than up to that time', async () => {
  const { endpointId } = await register(service);
  const order = {
    client_id: 'alpha',
    endpoint_id: endpointId,
    from: '2020-01-01T00:00:00Z',
    to: '2099-01-01T00:00:00Z',
  };
  const post = async (key: string): Promise<Proposal> => {
    const answer = await siti.act('POST', 'callback-replays', { ...order, ...WHY }, { 'idempotency-key': key });
    assert.equal(answer.status, 202, answer.text);
    return answer.json.data as Proposal;
  };
  const redirected = await post('redirected');
  await sql(`update tiba.callback_endpoints set url = url || '/other' where endpoint_id = '${endpointId}'`);
  assertError(await approve(budi, redirected), 'PROPOSAL_CONFLICT', /has changed since, and nothing was done/);

  const proposal = await post('up to now');
  const [{ now } = { now: new Date(0) }] = (await sql('select clock_timestamp() as now')) as { now: Date }[];
  assertSuccess(await approve(budi, proposal));
  const [stored] = await sql("select to_time from tiba.callback_replays where idempotency_key = 'up to now'");
  assert.ok((stored?.['to_time'] as Date) <= now, String(stored?.['to_time']));
});

test('after a restore no session goes on, and no proposal can be approved a second time', async () => {
  const { proposal } = await propose();
  await recordRestore(service.app.database);
  assertError(await budi.get('session'), 'UNAUTHORIZED', /has ended/);
  const again = await logIn(service, BUDI);
  assertError(await approve(again, proposal), 'PROPOSAL_CONFLICT', /decided already: outdated, by Restore of a backup/);
});
