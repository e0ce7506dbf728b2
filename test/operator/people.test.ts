import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { createLoginLink } from '../../apps/server/src/auth/login-links.ts';
import { ROLES, type Role } from '../../apps/server/src/auth/roles.ts';
import { verifyOperatorActions } from '../../apps/server/src/postgres/operator-actions.ts';
import { openSql } from '../callbacks/endpoints-harness.ts';
import { assertError, assertSuccess } from '../contract/assertions.ts';
import { databaseUrlOf, manage } from '../manage/manage-process.ts';
import { send, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { type Browser, browserOf, cookieOf, logIn, open } from './browser.ts';

/** People on the operator listener: their sessions, and what each role may do. */

let service: TestService;
let sql: Awaited<ReturnType<typeof openSql>>;
const browsers: Partial<Record<Role, Browser>> = {};
const asRole = (role: Role): Browser => browsers[role] ?? assert.fail(role);

const SITI = { subject: 'siti@example.com', name: 'Siti Rahma', role: 'support' } as const;
const REASON = { reason: 'Ticket 4711: the customer asks' };

before(async () => {
  service = await startTestService({ rails: [] });
  sql = await openSql(service);
  assertSuccess(await service.feed(statusUpdate({ created_at: new Date().toISOString() })));
  for (const role of ROLES) {
    browsers[role] = await logIn(service, { subject: `${role}@example.com`, name: `The ${role}`, role });
  }
});
after(async () => {
  await sql?.end();
  await service?.close();
});

const link = (person: typeof SITI = SITI): Promise<string> =>
  createLoginLink(service.app.database, service.operatorUrl, person);

suite('a link of the sandbox', () => {
  test('logs a person in once, and leads to the console', async () => {
    const url = await link();
    const response = await open(`${url}&return_to=${encodeURIComponent('/console/tx/TB1?client_id=a#b')}`);
    assert.equal(response.status, 303);
    assert.equal(response.headers.get('location'), '/console/tx/TB1?client_id=a#b');
    assert.equal(response.headers.get('cache-control'), 'no-store');
    const { cookie, attributes } = cookieOf(response);
    assert.match(cookie, /^tiba-operator=[A-Za-z0-9_-]{59}$/);
    assert.equal(attributes, 'Path=/; HttpOnly; SameSite=Lax; Max-Age=43200');
    const session = assertSuccess(await (await browserOf(service, cookie)).get('session'));
    assert.deepEqual(
      { ...session, csrf_token: '', person: { ...(session['person'] as object), session_id: '', expires_at: '' } },
      {
        person: {
          actor: `person:${SITI.subject}`,
          session_id: '',
          subject: SITI.subject,
          name: SITI.name,
          roles: ['viewer', 'support'],
          expires_at: '',
        },
        four_eyes: [],
        csrf_token: '',
      },
    );
    const again = await open(url);
    assert.equal(again.status, 401);
    assert.match(await again.text(), /This link was used, or has expired/);
  });

  test('is refused after its time, and a browser gets a page that says so', async () => {
    const url = await link();
    await sql("update tiba.operator_login_links set expires_at = now() - interval '1 second'");
    const response = await open(url, { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
    assert.equal(response.status, 401);
    assert.match(response.headers.get('content-type') ?? '', /^text\/html/);
    assert.match(response.headers.get('content-security-policy') ?? '', /^default-src 'none'/);
    assert.match(await response.text(), /has expired .*npm run manage -- session link/s);
    assert.deepEqual(response.headers.getSetCookie(), []);
  });

  test('leads to no page outside the console', async () => {
    const url = await link();
    const refused = [
      '//evil.example/console/',
      '/\\evil.example',
      'https://evil.example/',
      '/console/../metrics',
      '/x',
    ];
    for (const path of refused) {
      const response = await open(`${url}&return_to=${encodeURIComponent(path)}`);
      assert.equal(response.status, 400, path);
      assert.match(await response.text(), /return_to must be a path that begins with/, path);
    }
    assert.equal((await open(url)).headers.get('location'), '/console/');
  });
});

const NO_ENDPOINT = `ep_${'0'.repeat(20)}`;

/** What each role may do at the least, with the answer to one that may. */
const OPERATIONS: readonly (readonly [
  role: Role,
  method: string,
  path: string,
  body: object | null,
  status: number,
])[] = [
  ['viewer', 'GET', 'transactions?transaction_id=TB0000000001', null, 200],
  ['viewer', 'GET', 'transactions/TB0000000001/timeline', null, 200],
  ['viewer', 'GET', 'overdue', null, 200],
  ['viewer', 'GET', 'clients', null, 200],
  ['viewer', 'GET', 'clients/beta', null, 200],
  ['support', 'POST', 'transactions/TB0000000001/unmask', REASON, 200],
  ['support', 'POST', 'transactions/TB0000000001/inquire', REASON, 200],
  ['support', 'POST', 'callback-deliveries/ep_00000000000000000000-1/resend', { ...REASON, client_id: 'alpha' }, 404],
  ['engineer', 'POST', 'transactions/TB0000000001/resolve-review', REASON, 200],
  ['engineer', 'PATCH', 'clients/beta', { ...REASON, trusted: true }, 200],
  ['viewer', 'GET', 'clients/beta/secrets', null, 200],
  ['viewer', 'GET', 'clients/beta/callback-endpoints', null, 200],
  ['viewer', 'GET', 'clients/beta/snap', null, 200],
  ['engineer', 'POST', 'clients', { ...REASON, client_id: 'beta', scopes: ['status:read'] }, 409],
  ['engineer', 'POST', 'clients/beta/revoke-tokens', REASON, 200],
  ['engineer', 'POST', 'clients/beta/secrets', { ...REASON, replace_all: true }, 200],
  ['engineer', 'POST', 'clients/beta/secrets/00000000/retire', REASON, 404],
  ['engineer', 'POST', 'clients/beta/callback-endpoints', { ...REASON, url: 'http://127.0.0.1:9/x' }, 200],
  ['engineer', 'PATCH', `clients/beta/callback-endpoints/${NO_ENDPOINT}`, { ...REASON, disabled: true }, 404],
  ['engineer', 'POST', `clients/beta/callback-endpoints/${NO_ENDPOINT}/rotate-secret`, REASON, 404],
  ['engineer', 'PATCH', 'clients/beta/snap', { ...REASON, external_ids: 'off' }, 200],
  ['engineer', 'POST', 'clients/beta/snap/secret', REASON, 200],
  ['engineer', 'POST', 'clients/beta/snap/keys/none/remove', REASON, 404],
  ['engineer', 'POST', 'clients/beta/snap/end', REASON, 200],
  ['engineer', 'POST', 'signing-keys/rotate', { ...REASON, algorithm: 'ES256' }, 200],
  ['engineer', 'GET', 'audit', null, 200],
  ['engineer', 'GET', 'proposals', null, 200],
  ['engineer', 'GET', 'proposals/pr_none', null, 404],
  ['engineer', 'GET', 'sessions', null, 200],
  ['engineer', 'POST', 'sessions/revoke', { ...REASON, session_id: 'os_none' }, 200],
];

suite('a role', () => {
  for (const [needed, method, path, body, status] of OPERATIONS) {
    test(`may ${method} ${path} from ${needed} on`, async () => {
      for (const role of ROLES) {
        const browser = asRole(role);
        const answer = await (body === null ? browser.get(path) : browser.act(method, path, body));
        if (ROLES.indexOf(role) >= ROLES.indexOf(needed))
          assert.equal(answer.status, status, `${role}: ${answer.text}`);
        else assertError(answer, 'FORBIDDEN', new RegExp(`Your role is ${role}, and this needs the role ${needed}`));
      }
    });
  }

  test('reads account numbers and names masked', async () => {
    const { text } = await asRole('viewer').get('transactions?q=TB0000000001');
    assert.ok(text.includes('TB0000000001'));
    assert.ok(!text.includes('1234567890') && !text.includes('BUDI SANTOSO'), text);
  });

  test('is none for what only machines do', async () => {
    const { cookie, csrfToken } = asRole('approver');
    const answer = await send(`${service.operatorUrl}/feed/v1/transactions`, {
      method: 'POST',
      headers: { cookie, 'x-csrf-token': csrfToken, 'content-type': 'application/json' },
      body: JSON.stringify(statusUpdate()),
    });
    assertError(answer, 'FORBIDDEN', /for machines only/);
  });
});

test('what a person does is recorded with name, session and role', async () => {
  const siti = await logIn(service, SITI);
  assertSuccess(await siti.act('POST', 'transactions/TB0000000001/unmask', REASON));
  const { sessions } = assertSuccess(await asRole('engineer').get(`sessions?subject=${SITI.subject}`)) as {
    sessions: Record<string, string>[];
  };
  const { actions } = assertSuccess(await asRole('engineer').get(`audit?actor=person:${SITI.subject}&limit=2`)) as {
    actions: Record<string, string>[];
  };
  const [unmasked, begun] = actions;
  for (const action of [unmasked, begun]) {
    assert.deepEqual(
      [action?.['actor'], action?.['actor_name'], action?.['session_id'], action?.['role'], action?.['origin']],
      [`person:${SITI.subject}`, SITI.name, sessions[0]?.['session_id'], 'support', '127.0.0.1'],
    );
  }
  assert.deepEqual([begun?.['action'], unmasked?.['action']], ['session begin', 'transaction unmask']);
  assert.deepEqual((await verifyOperatorActions(service.app.database)).faults, []);
});

suite('a request that changes something', () => {
  const path = 'clients/beta';
  const change = { ...REASON, trusted: true };
  for (const [name, headers] of [
    ['without the token', { 'x-csrf-token': '' }],
    ['with a wrong token', { 'x-csrf-token': 'x'.repeat(43) }],
    ['with another session’s token', {}],
    ['from a page elsewhere', { 'sec-fetch-site': 'cross-site' }],
    ['from a page of the same site', { 'sec-fetch-site': 'same-site' }],
  ] as const) {
    test(`is refused ${name}`, async () => {
      await sql("update tiba.clients set trusted = false where client_id = 'beta'");
      const forged = name.startsWith('with another') ? { 'x-csrf-token': asRole('approver').csrfToken } : headers;
      assertError(await asRole('engineer').act('PATCH', path, change, forged), 'FORBIDDEN', /X-CSRF-Token/);
      const [client] = await sql("select trusted from tiba.clients where client_id = 'beta'");
      assert.equal(client?.['trusted'], false);
    });
  }

  test('needs no token with an access token, which alone counts', async () => {
    const { token } = await service.addClient('reader', ['operator:read']);
    const headers = { authorization: `Bearer ${token}` };
    assertError(await asRole('engineer').act('PATCH', path, change, headers), 'FORBIDDEN', /operator:write/);
    assertSuccess(await asRole('viewer').get('overdue', headers));
    assertError(await asRole('viewer').get('overdue', { authorization: 'Bearer bad' }), 'UNAUTHORIZED');
  });
});

suite('a session', () => {
  const idOf = async ({ cookie }: Browser): Promise<string> => {
    const [session] = await sql('select session_id from tiba.operator_sessions where secret_hash = sha256($1::bytea)', [
      Buffer.from(cookie.split('=')[1] ?? ''),
    ]);
    return String(session?.['session_id']);
  };

  const assertEnded = async (browser: Browser): Promise<void> => {
    for (const path of ['session', 'overdue']) {
      const answer = await browser.get(path);
      assertError(answer, 'UNAUTHORIZED', /Your session has ended: log in again at \/operator\/login/);
      assert.match(answer.headers.get('set-cookie') ?? '', /^tiba-operator=; .*Max-Age=0$/);
    }
  };

  test('is needed', async () => {
    const answer = await send(`${service.operatorUrl}/operator/v1/session`, {});
    assertError(answer, 'UNAUTHORIZED', /log in at \/operator\/login/);
    const malformed = { cookie: 'tiba-operator=short; other=x' };
    assertError(
      await send(`${service.operatorUrl}/operator/v1/session`, { headers: malformed }),
      'UNAUTHORIZED',
      /log in/,
    );
    const unknown = { cookie: `tiba-operator=${'x'.repeat(59)}` };
    assertError(
      await send(`${service.operatorUrl}/operator/v1/overdue`, { headers: unknown }),
      'UNAUTHORIZED',
      /has ended/,
    );
  });

  test('is looked up only for a cookie that this installation has made', async () => {
    const browser = await logIn(service, SITI);
    const madeUp = { cookie: `${browser.cookie.slice(0, -1)}${browser.cookie.endsWith('A') ? 'E' : 'A'}` };
    await sql('begin');
    try {
      // A look-up would wait for this lock, and then be unavailable.
      await sql('lock table tiba.operator_sessions in access exclusive mode');
      assertError(await browser.get('session', madeUp), 'UNAUTHORIZED', /has ended/);
    } finally {
      await sql('rollback');
    }
    assertSuccess(await browser.get('session'));
  });

  test('ends when the person logs out', async () => {
    const browser = await logIn(service, SITI);
    assertError(await browser.act('DELETE', 'session', undefined, { 'x-csrf-token': '' }), 'FORBIDDEN');
    const answer = await browser.act('DELETE', 'session');
    assertSuccess(answer);
    assert.match(answer.headers.get('set-cookie') ?? '', /Max-Age=0$/);
    await assertEnded(browser);
  });

  test('ends when it is revoked: one, or all of a person', async () => {
    const [first, second, third] = [
      await logIn(service, SITI),
      await logIn(service, SITI),
      await logIn(service, { ...SITI, subject: 'budi@example.com' }),
    ];
    const engineer = asRole('engineer');
    assertError(await engineer.act('POST', 'sessions/revoke', REASON), 'INVALID_REQUEST', /give subject/);
    const one = await engineer.act('POST', 'sessions/revoke', { ...REASON, session_id: await idOf(first) });
    assert.deepEqual(assertSuccess(one), { revoked: 1 });
    await assertEnded(first);
    assertSuccess(await second.get('session'));
    const all = await engineer.act('POST', 'sessions/revoke', { ...REASON, subject: SITI.subject });
    assert.ok(Number(assertSuccess(all)['revoked']) >= 1);
    await assertEnded(second);
    assertSuccess(await third.get('session'));
    const environment = { DATABASE_URL: databaseUrlOf(service.database) };
    const command = ['session', 'revoke', '--person', 'budi@example.com'];
    const [withoutReason, ended] = await Promise.all([
      manage(command, { environment }),
      manage([...command, '--reason', 'Ticket 12'], { environment }),
    ]);
    assert.deepEqual([withoutReason.code, ended.code], [1, 0]);
    assert.match(withoutReason.stderr, /say why with --reason/);
    await assertEnded(third);
    const { actions } = assertSuccess(await engineer.get('audit?action=session+revoke')) as { actions: object[] };
    assert.equal(actions.length, 3);
  });

  test('ends after an hour without a request, and after twelve hours', async () => {
    for (const change of ["last_used_at = now() - interval '61 minutes'", "expires_at = now() - interval '1 second'"]) {
      const browser = await logIn(service, SITI);
      await sql(`update tiba.operator_sessions set ${change} where session_id = $1`, [await idOf(browser)]);
      await assertEnded(browser);
    }
    const used = await logIn(service, SITI);
    await sql("update tiba.operator_sessions set last_used_at = now() - interval '59 minutes' where session_id = $1", [
      await idOf(used),
    ]);
    assertSuccess(await used.get('overdue'));
    const [session] = await sql(
      "select last_used_at > now() - interval '1 minute' as is_fresh from tiba.operator_sessions where session_id = $1",
      [await idOf(used)],
    );
    assert.equal(session?.['is_fresh'], true);
  });

  test('of a browser ends with its next login', async () => {
    const browser = await logIn(service, SITI);
    const response = await open(await link(), { cookie: browser.cookie });
    assert.equal(response.status, 303);
    await assertEnded(browser);
  });

  test('holds in another process, and with TLS has a cookie for this host only', async () => {
    const other = await startTestService({
      rails: [],
      database: service.database,
      settings: { operatorUrl: 'https://ops.example.com' },
    });
    try {
      const browser = await logIn(service, SITI);
      const elsewhere = { cookie: `__Host-${browser.cookie}` };
      assertSuccess(await send(`${other.operatorUrl}/operator/v1/session`, { headers: elsewhere }));
      // A page without TLS could have set the plain one.
      assertError(
        await send(`${other.operatorUrl}/operator/v1/session`, { headers: { cookie: browser.cookie } }),
        'UNAUTHORIZED',
        /log in/,
      );
      const { cookie, attributes } = cookieOf(
        await open(await createLoginLink(service.app.database, other.operatorUrl, SITI)),
      );
      assert.match(cookie, /^__Host-tiba-operator=/);
      assert.equal(attributes, 'Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=43200');
      assertSuccess(await browser.act('DELETE', 'session'));
      assertError(
        await send(`${other.operatorUrl}/operator/v1/session`, { headers: elsewhere }),
        'UNAUTHORIZED',
        /has ended/,
      );
    } finally {
      await other.close();
    }
  });
});

test('a person with a long subject is found in the record and among the sessions', async () => {
  const engineer = asRole('engineer');
  const subject = `samlp|staff|${'s'.repeat(243)}`;
  await logIn(service, { ...SITI, subject });
  const listed = await engineer.get(`sessions?subject=${subject}`);
  assert.deepEqual((assertSuccess(listed)['sessions'] as { subject: string }[])[0]?.subject, subject);
  assertSuccess(await engineer.act('POST', 'sessions/revoke', { ...REASON, subject }));
  for (const [filter, action] of [
    [`actor=person:${subject}`, 'session begin'],
    [`subject_id=${subject}`, 'session revoke'],
  ]) {
    const { actions } = assertSuccess(await engineer.get(`audit?${filter}`)) as { actions: { action: string }[] };
    assert.equal(actions[0]?.action, action);
  }
  assertSuccess(await engineer.get(`audit?actor=${'a'.repeat(1_024)}`));
  assertError(await engineer.get(`audit?actor=${'a'.repeat(1_025)}`), 'INVALID_REQUEST', /actor must have 1 to 1024/);
});

test('the log has no cookie, no code of a link and no token', () => {
  const text = JSON.stringify(service.logged);
  for (const { cookie, csrfToken } of Object.values(browsers)) {
    assert.ok(!text.includes(cookie.split('=')[1] ?? cookie) && !text.includes(csrfToken));
  }
  assert.ok(!text.includes('code='));
});
