import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createSeal } from '../../apps/server/src/auth/secrets.ts';
import { createSnapCredentials } from '../../apps/server/src/auth/snap-credentials.ts';
import type { Options } from '../../apps/server/src/cli/manage-command.ts';
import { COMMANDS } from '../../apps/server/src/cli/manage-commands.ts';
import { verifyOperatorActions } from '../../apps/server/src/postgres/operator-actions.ts';
import { openSql, register } from '../callbacks/endpoints-harness.ts';
import { assertError, assertSuccess } from '../contract/assertions.ts';
import { eventually } from '../support/eventually.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { type Answer, send, startTestService, type TestService } from '../support/service.ts';
import { type Browser, logIn } from './browser.ts';
import { addMachine } from './machine.ts';

/** Clients, their secrets and their endpoints over the operator API, where a second person approves what is a key. */

const SECRET_KEY = Buffer.alloc(32, 9);
const WHY = { reason: 'Ticket 4711: agreed with the client' };
const SEARCHES_PER_HOUR = 3;

let service: TestService;
let sql: Awaited<ReturnType<typeof openSql>>;
let engineer: Browser;
let budi: Browser;
/** Every secret that was shown: none may be anywhere else. */
const secrets: string[] = [];

before(async () => {
  service = await startTestService({
    rails: [],
    secretKey: SECRET_KEY,
    settings: { fourEyes: ['keys'], tokenAccountSearches: SEARCHES_PER_HOUR },
  });
  sql = await openSql(service);
  engineer = await logIn(service, { subject: 'eka@example.com', name: 'Eka', role: 'engineer' });
  budi = await logIn(service, { subject: 'budi@example.com', name: 'Budi Santoso', role: 'approver' });
});
after(async () => {
  await sql?.end();
  await service?.close();
});

type Fields = Readonly<Record<string, unknown>>;

/** The proposal, from which nothing is done yet. */
async function propose(method: string, path: string, body: Fields = {}): Promise<Fields> {
  const answer = await engineer.act(method, path, { ...WHY, ...body });
  assert.equal(answer.status, 202, answer.text);
  return answer.json.data ?? assert.fail(answer.text);
}

const decide = ({ proposal_id: id, payload_hash: hash }: Fields): Promise<Answer> =>
  budi.act('POST', `proposals/${String(id)}/approve`, { payload_hash: hash, reason: 'Agreed with the client' });

/** What the approved change has answered. */
async function approve(proposal: Fields): Promise<Fields> {
  const { result } = assertSuccess(await decide(proposal));
  return JSON.parse(String(result)) as Fields;
}

const approved = async (method: string, path: string, body: Fields = {}): Promise<Fields> =>
  approve(await propose(method, path, body));

const done = async (method: string, path: string, body: Fields = {}): Promise<Fields> =>
  assertSuccess(await engineer.act(method, path, { ...WHY, ...body }));

function secretIn(data: Fields, name: string): string {
  const secret = String(data[name]);
  assert.ok(secret.length >= 43, JSON.stringify(data));
  secrets.push(secret);
  return secret;
}

const logInAs = async (clientId: string, secret: string): Promise<number> => {
  const answer = await send(`${service.url}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  return answer.status;
};

const logsIn = (clientId: string, secret: string): Promise<unknown> =>
  eventually(`${clientId} logs in`, async () => (await logInAs(clientId, secret)) === 200);

const logsInNoMore = (clientId: string, secret: string): Promise<unknown> =>
  eventually(`${clientId} logs in no more`, async () => (await logInAs(clientId, secret)) === 401);

test('a client is created by approval, and its secret is in that answer only', async () => {
  const scopes = ['status:read', 'callbacks:manage'];
  const proposal = await propose('POST', 'clients', { client_id: 'shop-one', name: 'Shop \u202eOne', scopes });
  assertError(await engineer.get('clients/shop-one/secrets'), 'NOT_FOUND');
  const data = await approve(proposal);
  assert.deepEqual([data['client_id'], data['name'], data['scopes']], ['shop-one', 'Shop One', scopes]);
  await logsIn('shop-one', secretIn(data, 'client_secret'));
  const again = { ...WHY, client_id: 'shop-one', scopes };
  assertError(await engineer.act('POST', 'clients', again), 'CLIENT_CONFLICT', /client_id is in use/);
  for (const [wrong, message] of [
    [{ client_id: 'shop one' }, /client_id must have 1 to 64/],
    [{ scopes: [] }, /scopes must be a list/],
    [{ scopes: ['status:read', 'status:read'] }, /without repetition/],
    [{ scopes: ['all'] }, /status:read/],
    [{ name: '\u202e' }, /name must have/],
    [{ limits: {} }, /a field that this action does not have/],
  ] as const) {
    const answer = await engineer.act('POST', 'clients', { ...again, client_id: 'shop-two', ...wrong });
    assertError(answer, 'INVALID_REQUEST', message);
  }
});

test('scopes change and tokens end without approval of keys', async () => {
  const { token } = await service.addClient('gamma', ['status:read', 'events:read']);
  const changed = await done('PATCH', 'clients/gamma', { scopes: ['events:read'] });
  assert.deepEqual(changed['scopes'], ['events:read']);
  const check = (): Promise<Answer> => service.get('/api/v1/check-status/TB0000000001', { token });
  await eventually('the scope ends', async () => (await check()).status === 403);
  assert.equal((await done('POST', 'clients/gamma/revoke-tokens'))['tokens_revoked'], true);
  await eventually('the token ends', async () => (await check()).status === 401);
  assertError(await engineer.act('POST', 'clients/none/revoke-tokens', WHY), 'NOT_FOUND');
});

test('a secret is replaced without a failed login: two are valid, then one', async () => {
  const first = secretIn(
    await approved('POST', 'clients', { client_id: 'shop-three', scopes: ['status:read'] }),
    'client_secret',
  );
  await logsIn('shop-three', first);
  const list = async (): Promise<readonly Fields[]> =>
    assertSuccess(await engineer.get('clients/shop-three/secrets'))['secrets'] as Fields[];
  const [only] = await list();
  const retire = (id: unknown): Promise<Answer> =>
    engineer.act('POST', `clients/shop-three/secrets/${String(id)}/retire`, WHY);
  assertError(await retire(only?.['secret_id']), 'CLIENT_CONFLICT', /the only secret/);
  assertError(await retire('00000000'), 'NOT_FOUND', /no secret with this ID/);

  const added = await approved('POST', 'clients/shop-three/secrets');
  const second = secretIn(added, 'client_secret');
  await logsIn('shop-three', second);
  await logsIn('shop-three', first);
  assert.deepEqual(
    (await list()).map((each) => each['secret_id']),
    [only?.['secret_id'], added['secret_id']],
  );
  const third = await propose('POST', 'clients/shop-three/secrets');
  // Regression: a proposal named secrets by another hash than their list.
  const { secret, second_secret: secondSecret } = JSON.parse(String(third['before'])) as Fields;
  assert.deepEqual([secret, secondSecret], [only?.['secret_id'], added['secret_id']]);
  assertError(await decide(third), 'PROPOSAL_CONFLICT', /two secrets already/);
  assert.equal(assertSuccess(await budi.get(`proposals/${String(third['proposal_id'])}`))['state'], 'pending');

  assertSuccess(await retire(only?.['secret_id']));
  await logsInNoMore('shop-three', first);
  await logsIn('shop-three', second);
  assertError(await decide(third), 'PROPOSAL_CONFLICT', /has changed since/);

  const fresh = secretIn(await approved('POST', 'clients/shop-three/secrets', { replace_all: true }), 'client_secret');
  await logsInNoMore('shop-three', second);
  await logsIn('shop-three', fresh);
  const { actions } = assertSuccess(await engineer.get('audit?client_id=shop-three&limit=50')) as { actions: Fields[] };
  const changes = actions.filter(({ action }) => String(action).startsWith('client '));
  assert.deepEqual(
    changes.map(({ action, subject_id: id, approved_by: by }) => [action, id === null, by !== null]),
    [
      ['client new-secret', false, true],
      ['client retire-secret', false, false],
      ['client add-secret', false, true],
      ['client create', true, true],
    ],
  );
  for (const { before, after } of changes.slice(0, 3)) assert.notEqual(before, after);
});

test('endpoints of a client are registered, changed and disabled; people see no path of a URL', async () => {
  const path = 'clients/beta/callback-endpoints';
  const key = 'path-with-a-key-of-the-client';
  const url = `http://127.0.0.1:9/${key}`;
  const proposal = await propose('POST', path, { url, kinds: ['disbursement.failed'] });
  assert.match(String(proposal['payload']), /"origin":"http:\/\/127\.0\.0\.1:9"/);
  const registered = await approve(proposal);
  const { endpoint_id: id } = registered;
  const secret = secretIn(registered, 'secret');
  const seal = createSeal(SECRET_KEY);
  const stored = async (): Promise<{ url: unknown; secret: string }> => {
    const [row] = await sql('select url, secret_sealed from tiba.callback_endpoints where endpoint_id = $1', [id]);
    return { url: row?.['url'], secret: seal.open(row?.['secret_sealed'] as Buffer) };
  };
  assert.deepEqual(await stored(), { url, secret });
  const one = `${path}/${String(id)}`;

  const rotated = secretIn(await approved('POST', `${one}/rotate-secret`), 'secret');
  assert.deepEqual(await stored(), { url, secret: rotated });
  const other = `http://127.0.0.1:10/${key}`;
  await approved('PATCH', one, { url: other });
  assert.equal((await stored()).url, other);

  const outdated = await propose('PATCH', one, { url });
  assert.equal((await done('PATCH', one, { disabled: true }))['disabled_reason'], 'operator');
  assertError(await decide(outdated), 'PROPOSAL_CONFLICT', /has changed since/);
  const own = await service.get(`/api/v1/callback-endpoints/${String(id)}`, { token: service.beta.token });
  assert.equal(assertSuccess(own)['disabled_reason'], 'operator');
  const enabled = await done('PATCH', one, { disabled: false, kinds: ['bank.down'] });
  assert.deepEqual([enabled['status'], enabled['kinds']], ['enabled', ['bank.down']]);

  const { endpoints } = assertSuccess(await budi.get(path)) as { endpoints: Fields[] };
  assert.deepEqual(
    endpoints.map((each) => [each['endpoint_id'], each['origin']]),
    [[id, 'http://127.0.0.1:10']],
  );
  assertError(await engineer.act('POST', path, { ...WHY, url: 'ftp://x' }), 'INVALID_REQUEST', /url cannot be used/);
  assertError(await engineer.act('PATCH', one, WHY), 'INVALID_REQUEST', /at least one of/);
  // Regression: the host name was looked up first, which takes seconds where it does not exist.
  const wrongKinds = { ...WHY, url: 'https://no-such-host.invalid/', kinds: ['other'] };
  assertError(await engineer.act('POST', path, wrongKinds), 'INVALID_REQUEST', /kinds must be a list/);
  assertError(await engineer.act('PATCH', one, wrongKinds), 'INVALID_REQUEST', /kinds must be a list/);
  // As if it were of another client.
  const foreign = `clients/alpha/callback-endpoints/${String(id)}`;
  assertError(await engineer.act('PATCH', foreign, { ...WHY, disabled: true }), 'ENDPOINT_NOT_FOUND');
  const [row] = await sql(
    `select count(*)::int as found from tiba.operator_actions a full join tiba.operator_proposals p using (proposal_id)
      where concat(a.before, a.after, p.payload, p.before) like $1`,
    [`%${key}%`],
  );
  assert.equal(row?.['found'], 0);
});

test('a caller gives only scopes that it could use itself, and no person those of the feed', async () => {
  const machine = await addMachine(service, 'registrar', ['operator:read', 'operator:write']);
  await service.addClient('second-core', ['feed:write']);
  const state = () => sql('select client_id, scopes, secret_hash, second_secret_hash from tiba.clients order by 1');
  const before = await state();
  const callers = [
    [engineer.act, 'feed:write', 'no person with the role engineer has'],
    [budi.act, 'feed:write', 'no person with the role approver has'],
    [machine.act, 'feed:write', 'your access token lacks'],
    [machine.act, 'operator:unmask, audit:read', 'your access token lacks'],
  ] as const;
  for (const [act, refused, lacking] of callers) {
    const all = ['status:read', 'operator:write', ...refused.split(', ')];
    for (const [method, path, body, command] of [
      ['POST', 'clients', { client_id: 'shop-four', scopes: all }, 'client create shop-four --scope'],
      ['PATCH', 'clients/registrar', { scopes: all }, 'client scopes registrar --scope'],
      ['POST', 'clients/second-core/secrets', {}, 'client add-secret second-core'],
      ['POST', 'clients/second-core/secrets', { replace_all: true }, 'client new-secret second-core'],
    ] as const) {
      const scope = path.endsWith('secrets') ? 'feed:write' : refused;
      const message = new RegExp(`would give ${scope}, which ${lacking}, .* npm run manage -- ${command}`);
      assertError(await act(method, path, { ...WHY, ...body }), 'FORBIDDEN', message);
    }
  }
  assert.deepEqual(await state(), before);
  assert.deepEqual(await sql("select from tiba.operator_proposals where client_id like any ('{%core,shop-four}')"), []);

  // What a client has may stay, and each role gives its own.
  const kept = ['status:read', 'feed:write', 'audit:read'];
  assert.deepEqual((await done('PATCH', 'clients/second-core', { scopes: kept }))['scopes'], kept);
  const own = ['events:read', 'operator:read'];
  assert.deepEqual(assertSuccess(await machine.act('PATCH', 'clients/gamma', { ...WHY, scopes: own }))['scopes'], own);
  await propose('POST', 'clients/gamma/secrets');
});

/**
 * Regression: where the URL was changed as well, the deliveries became due after the endpoint was enabled, and those
 * that a killed process left waited for up to a day.
 */
test('deliveries become due in short transactions before their endpoint is enabled, at once or by approval', async () => {
  const { token } = await service.addClient('silent', ['callbacks:manage']);
  const { endpointId } = await register(service, {}, token);
  // A disabled client is sent nothing: what is due stays due.
  await sql("update tiba.clients set disabled_at = now() where client_id = 'silent'");
  await sql(
    `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at)
     select 'silent', $1, n, now() from generate_series(1, 2500) n`,
    [endpointId],
  );
  await sql(`
    create function late() returns trigger language plpgsql as $$ begin
      if exists (select from tiba.callback_endpoints e where e.endpoint_id = new.endpoint_id and e.disabled_at is null)
      then raise exception 'the endpoint is enabled already'; end if;
      return new;
    end $$;
    create trigger late before update on tiba.callback_outbox for each row execute function late()`);
  const one = `clients/silent/callback-endpoints/${endpointId}`;
  for (const enable of [
    () => done('PATCH', one, { disabled: false }),
    () => approved('PATCH', one, { disabled: false, url: 'http://127.0.0.1:10/' }),
  ]) {
    await done('PATCH', one, { disabled: true });
    await sql("update tiba.callback_outbox set next_attempt_at = now() + interval '1 day' where client_id = 'silent'");
    await enable();
    const [due] = await sql(
      `select count(*) filter (where next_attempt_at <= now())::int as due,
              count(distinct xmin::text)::int as transactions
         from tiba.callback_outbox where client_id = 'silent'`,
    );
    assert.deepEqual(due, { due: 2_500, transactions: 3 });
  }
  await sql('drop function late() cascade');
});

test('a client uses SNAP with a key and a secret, until it is ended', async () => {
  const path = 'clients/alpha/snap';
  assert.equal(assertSuccess(await budi.get(path))['snap'], null);
  const pem = rsaKeys().publicKey.export({ type: 'spki', format: 'pem' });
  const { key_id: keyId } = await approved('POST', `${path}/keys`, { public_key: pem });
  await approved('PATCH', path, { partner_id: 'SHOP', external_ids: 'off', clock_skew_seconds: 60 });
  const secret = secretIn(await approved('POST', `${path}/secret`, { former_hours: 0 }), 'snap_secret');
  const snap = () => service.app.clients.find('alpha')?.snap ?? null;
  await eventually('the secret reaches the service', () => snap() !== null && snap()?.secretSealed !== null);
  const open = createSnapCredentials(createSeal(SECRET_KEY));
  assert.deepEqual(open(snap() ?? assert.fail()).secrets(), [secret]);
  assert.deepEqual(assertSuccess(await budi.get(path))['snap'], {
    partner_id: 'SHOP',
    external_ids: 'off',
    body_hash: 'minified',
    clock_skew_seconds: 60,
    key_ids: [keyId],
    has_secret: true,
    former_secret_until: null,
  });
  const taken = await propose('PATCH', 'clients/beta/snap', { partner_id: 'SHOP' });
  assertError(await decide(taken), 'PROPOSAL_CONFLICT', /Another client has this partner_id/);
  for (const [method, at, body, message] of [
    ['POST', `${path}/keys`, { public_key: 'x' }, /public_key: an RSA public key is needed/],
    ['PATCH', path, { clock_skew_seconds: 0 }, /from 1 to 86400/],
    ['PATCH', path, { partner_id: 'a b' }, /without spaces/],
    ['POST', `${path}/secret`, { former_hours: 1_000 }, /from 0 to 999/],
  ] as const)
    assertError(await engineer.act(method, at, { ...WHY, ...body }), 'INVALID_REQUEST', message);
  assertSuccess(await engineer.act('POST', `${path}/keys/${String(keyId)}/remove`, WHY));
  assertError(await engineer.act('POST', `${path}/keys/${String(keyId)}/remove`, WHY), 'NOT_FOUND', /no key/);
  assert.equal((await done('POST', `${path}/end`))['ended'], true);
  await eventually('SNAP ends', () => snap() === null);
});

test('an access token makes no key, and searches by account numbers a limited number of times', async () => {
  const machine = await addMachine(service, 'help-desk', ['operator:read', 'operator:write']);
  const answer = await machine.act('POST', 'clients/beta/secrets', WHY);
  assertError(answer, 'FORBIDDEN', /needs the approval of a second person \(TIBA_FOUR_EYES: keys\)/);
  const search = (): Promise<Answer> => machine.get('transactions?account_number=1234567890');
  for (let count = 0; count < SEARCHES_PER_HOUR; count += 1) assertSuccess(await search());
  assertError(await search(), 'RATE_LIMIT_EXCEEDED', /At most 3 searches by an account number in an hour/);
});

test('a command that makes a key, or lets a client do more, is for two people as well', () => {
  const kinds = (name: string, options: Options = {}) => COMMANDS[name]?.fourEyes?.(options) ?? [];
  for (const name of ['add-secret', 'new-secret', 'snap-secret']) assert.deepEqual(kinds(`client ${name}`), ['keys']);
  assert.deepEqual(kinds('client snap-key', { add: 'key.pem' }), ['keys']);
  assert.deepEqual(kinds('client snap', { 'partner-id': 'SHOP' }), ['keys']);
  assert.deepEqual(kinds('client create'), ['keys', 'trust']);
  assert.deepEqual(kinds('client scopes'), ['trust']);
  // What shows, or takes access away, is for one.
  for (const name of ['snap', 'snap-key', 'snap-end', 'retire-secret', 'revoke-tokens', 'disable', 'limits'])
    assert.deepEqual(kinds(`client ${name}`), [], name);
});

test('a reason is stored without characters that turn the direction of writing', async () => {
  await done('PATCH', 'clients/beta', { trusted: true, reason: 'Ticket \u202e4711\u2066 of the bank' });
  const { actions } = assertSuccess(await engineer.get('audit?action=client+change&limit=1')) as { actions: Fields[] };
  assert.equal(actions[0]?.['reason'], 'Ticket 4711 of the bank');
  const empty = { ...WHY, trusted: false, reason: '\u202e\u202e\u202e\u202e\u202e' };
  assertError(await engineer.act('PATCH', 'clients/beta', empty), 'INVALID_REQUEST', /reason must say why/);
});

test('no secret that was shown is in a record, a proposal or the log', async () => {
  assert.ok(secrets.length >= 7, String(secrets.length));
  const records = await sql('select before, after, reason from tiba.operator_actions');
  const proposals = await sql('select payload, before, reason, decision_reason from tiba.operator_proposals');
  const text = JSON.stringify([records, proposals, service.logged]);
  for (const secret of secrets) assert.ok(!text.includes(secret));
  assert.deepEqual((await verifyOperatorActions(service.app.database)).faults, []);
});
