import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, suite, test } from 'node:test';
import { createOpenIdProvider } from '../../apps/server/src/auth/openid-provider.ts';
import { createSeal } from '../../apps/server/src/auth/secrets.ts';
import type { Settings } from '../../apps/server/src/config/config.ts';
import { assertError, assertSuccess } from '../contract/assertions.ts';
import { send, startTestService, type TestService } from '../support/service.ts';
import { type Browser, browserOf, logIn as logInByLink } from './browser.ts';
import { CLIENT, CookieJar, type IdentityProvider, startIdentityProvider } from './identity-provider.ts';

/** The login of people, against a real provider. */

/** What browsers know the service as. The jar leads requests to it to one of the processes. */
const OPERATOR_URL = 'http://localhost:8081';
const SECRET_KEY = Buffer.alloc(32, 7);

let provider: IdentityProvider;
let service: TestService;
/** Another process of the same installation. */
let other: TestService;

const peopleSettings = (issuer: string): Partial<Settings> => ({
  operatorUrl: OPERATOR_URL,
  operatorTrustedProxies: ['127.0.0.1'],
  authenticationFailuresPerMinute: 5,
  oidcIssuer: issuer,
  fourEyes: ['limits'],
  oidcClientId: CLIENT.clientId,
  oidcClientSecret: CLIENT.clientSecret,
  oidcRoles: new Map([
    ['helpdesk', 'support'],
    ['payments-leads', 'approver'],
  ]),
});

before(async () => {
  provider = await startIdentityProvider(`${OPERATOR_URL}/operator/login/callback`);
  const settings = peopleSettings(provider.issuer);
  service = await startTestService({ rails: [], settings, secretKey: SECRET_KEY });
  other = await startTestService({ rails: [], settings, secretKey: SECRET_KEY, database: service.database });
});
after(async () => {
  await other?.close();
  await service?.close();
  await provider?.close();
});
/** Each test has an address of its own: logins are limited by address. */
let addresses = 0;
let address = '';
beforeEach(() => {
  address = `192.0.2.${(addresses += 1)}`;
  Object.assign(provider, { changeIdToken: null, usesOtherKey: false, isFailing: false });
  provider.account = { sub: 'siti', name: 'Siti Rahma', roles: ['helpdesk', 'all-staff'] };
});

const HTML = 'text/html,application/xhtml+xml,*/*;q=0.8';

/** Opens a page, with the cookies of its host. */
async function visit(jar: CookieJar, url: string, process = service): Promise<Response> {
  const response = await fetch(url.replace(OPERATOR_URL, process.operatorUrl), {
    headers: { cookie: jar.headerFor(url), accept: HTML, 'x-forwarded-for': address },
    redirect: 'manual',
  });
  jar.store(url, response);
  return response;
}

/** Begins a login, and follows it through the provider. The result is where it leads back to. */
const beginLogin = (jar: CookieJar, returnTo = '/console/'): Promise<string> =>
  followToCallback(jar, `${OPERATOR_URL}/operator/login?return_to=${encodeURIComponent(returnTo)}`);

async function followToCallback(jar: CookieJar, start: string): Promise<string> {
  let url = start;
  for (let count = 0; count < 10; count += 1) {
    const response = await visit(jar, url);
    assert.equal(response.status, 303, `${url}: ${await response.text()}`);
    url = new URL(response.headers.get('location') ?? '', url).href;
    // Some providers add `session_state`. Regression: what followed a second question mark, as in this one, was dropped.
    if (url.startsWith(`${OPERATOR_URL}/operator/login/callback`)) return url.replace('?', '?session_state=a?b&');
  }
  return assert.fail('the provider does not lead back');
}

async function logIn(jar = new CookieJar(), process = service): Promise<Browser> {
  const response = await visit(jar, await beginLogin(jar), process);
  assert.equal(response.status, 303, await response.text());
  return browserOf(process, jar.headerFor(OPERATOR_URL));
}

/** No session has begun, and the page says why. */
async function assertRefused(response: Response, status: number, message: RegExp): Promise<void> {
  const page = await response.text();
  assert.equal(response.status, status, page);
  assert.match(response.headers.get('content-type') ?? '', /^text\/html/);
  assert.match(page, message);
  assert.match(page, /<a href="\/operator\/login">/);
  assert.equal(
    response.headers.getSetCookie().find((each) => each.startsWith('tiba-operator=')),
    undefined,
  );
}

const NOT_CONFIRMED = /did not confirm this login, or its answer belongs to another one/;
const NOT_BEGUN = /not begun in this browser/;

suite('a login', () => {
  test('leads through the provider to the page, and the session has the name and the role', async () => {
    const jar = new CookieJar();
    const callback = await beginLogin(jar, '/console/reviews');
    const response = await visit(jar, callback);
    assert.equal(response.headers.get('location'), '/console/reviews');
    assert.equal(jar.valueOf(OPERATOR_URL, 'tiba-login'), undefined);
    const browser = await browserOf(service, jar.headerFor(OPERATOR_URL));
    const { person } = assertSuccess(await browser.get('session')) as { person: Record<string, unknown> };
    assert.deepEqual([person['subject'], person['name']], ['siti', 'Siti Rahma']);
    assert.deepEqual(person['roles'], ['viewer', 'support']);
  });

  test('asks the provider with PKCE, a state and a nonce', async () => {
    const response = await visit(new CookieJar(), `${OPERATOR_URL}/operator/login`);
    const { origin, searchParams } = new URL(response.headers.get('location') ?? '');
    assert.equal(origin, provider.issuer);
    assert.equal(searchParams.get('code_challenge_method'), 'S256');
    assert.equal(searchParams.get('redirect_uri'), `${OPERATOR_URL}/operator/login/callback`);
    for (const name of ['state', 'nonce', 'code_challenge']) assert.ok((searchParams.get(name) ?? '').length >= 43);
  });

  test('that begins in one process ends in another', async () => {
    assertSuccess(await (await logIn(new CookieJar(), other)).get('overdue'));
  });

  test('holds while its issuer is the configured one: another issuer has other people', async () => {
    // A cookie that does not hold is counted, in this process.
    const browser = await logIn(new CookieJar(), other);
    assertSuccess(await browser.get('session'));
    const rows = await service.app.database.query(
      "update tiba.operator_sessions set issuer = 'https://former.example.com' where issuer = $1 returning session_id",
      [provider.issuer],
    );
    assert.ok(rows.length > 0);
    assertError(await browser.get('session'), 'UNAUTHORIZED', /has ended/);
  });

  test('of the same subject elsewhere is another person, also for what a second person approves', async () => {
    provider.account = { sub: 'citra', name: 'Citra', roles: ['payments-leads'] };
    const byProvider = await logIn();
    const byLink = await logInByLink(service, { subject: 'citra', name: 'Citra of the sandbox', role: 'approver' });
    const actorOf = async (browser: Browser): Promise<unknown> =>
      (assertSuccess(await browser.get('session'))['person'] as Record<string, unknown>)['actor'];
    assert.equal(await actorOf(byProvider), `person:${provider.issuer}#citra`);
    assert.equal(await actorOf(byLink), 'person:citra');
    const change = { limits: { accounts_per_day: 4_321 }, reason: 'Agreed with the client' };
    const proposal = (await byLink.act('PATCH', 'clients/beta', change)).json.data ?? {};
    const path = `proposals/${String(proposal['proposal_id'])}/approve`;
    const decision = { payload_hash: proposal['payload_hash'], reason: 'As in the contract' };
    assertError(await byLink.act('POST', path, decision), 'FORBIDDEN', /You proposed this change/);
    const decided = assertSuccess(await byProvider.act('POST', path, decision));
    assert.deepEqual(
      [decided['state'], decided['proposed_by'], decided['decided_by']],
      ['executed', 'person:citra', `person:${provider.issuer}#citra`],
    );
    const { sessions } = assertSuccess(await byProvider.get('sessions?subject=citra')) as {
      sessions: { issuer: string | null }[];
    };
    assert.deepEqual(new Set(sessions.map(({ issuer }) => issuer)), new Set([null, provider.issuer]));
  });

  test('gives the highest of several roles', async () => {
    provider.account = { sub: 'budi', name: 'Budi Santoso', roles: ['helpdesk', 'payments-leads'] };
    const { person } = assertSuccess(await (await logIn()).get('session')) as { person: { roles: string[] } };
    assert.equal(person.roles.at(-1), 'approver');
  });

  test('takes the name and the roles from the ID token, where they are', async () => {
    provider.changeIdToken = (claims) => ({ ...claims, name: 'Siti R.', roles: ['payments-leads'] });
    const { person } = assertSuccess(await (await logIn()).get('session')) as { person: Record<string, unknown> };
    assert.deepEqual([person['name'], (person['roles'] as string[]).at(-1)], ['Siti R.', 'approver']);
  });

  test('removes characters that change the writing direction from the name', async () => {
    for (const [given, shown] of [
      [' \u202eitiS\u202c Rahma\u2069', 'itiS Rahma'],
      ['\u202e', 'siti@example.com'],
    ]) {
      provider.changeIdToken = (claims) => ({ ...claims, name: given, email: 'siti@example.com', roles: ['helpdesk'] });
      const { person } = assertSuccess(await (await logIn()).get('session')) as { person: Record<string, unknown> };
      assert.equal(person['name'], shown);
    }
  });

  test('takes the roles from userinfo where the ID token has the claim without a role', async () => {
    provider.changeIdToken = (claims) => ({ ...claims, roles: [] });
    const { person } = assertSuccess(await (await logIn()).get('session')) as { person: { roles: string[] } };
    assert.deepEqual(person.roles, ['viewer', 'support']);
  });

  for (const [rolesClaim, claims] of [
    ['realm_access.roles', { realm_access: { roles: ['offline_access', 'helpdesk'] } }],
    ['https://example.com/roles', { 'https://example.com/roles': 'helpdesk' }],
    ['resource.tiba.role', { resource: { tiba: { role: 'helpdesk' } } }],
  ] as const) {
    test(`finds the roles at ${rolesClaim}`, async () => {
      provider.changeIdToken = (given) => ({ ...given, ...claims });
      const redirectUri = `${OPERATOR_URL}/operator/login/callback`;
      const roles = new Map([['helpdesk', 'support'] as const]);
      const scope = 'openid';
      const client = createOpenIdProvider({
        issuer: provider.issuer,
        ...CLIENT,
        redirectUri,
        scope,
        rolesClaim,
        roles,
      });
      const { url, attempt } = await client.begin();
      const { searchParams } = new URL(await followToCallback(new CookieJar(), url));
      const result = await client.finish(searchParams, attempt);
      assert.deepEqual(result, { outcome: 'identified', subject: 'siti', name: 'siti', role: 'support' });
    });
  }

  for (const roles of [undefined, [], ['all-staff'], 'support', { helpdesk: true }]) {
    test(`without a role that Tiba knows is refused: ${JSON.stringify(roles)}`, async () => {
      provider.account = { sub: 'eve', name: 'Eve', roles };
      const jar = new CookieJar();
      await assertRefused(await visit(jar, await beginLogin(jar)), 403, /You are known, and have no role here/);
    });
  }
});

suite('an answer of the provider is refused', () => {
  for (const [name, change] of [
    ['a forged state', (url: URL) => url.searchParams.set('state', 'x'.repeat(43))],
    ['no state', (url: URL) => url.searchParams.delete('state')],
    ['a forged issuer', (url: URL) => url.searchParams.set('iss', 'https://login.example.com')],
    ['a forged code', (url: URL) => url.searchParams.set('code', 'x'.repeat(43))],
    ['an error of the provider', (url: URL) => url.searchParams.set('error', 'access_denied')],
    ['two codes', (url: URL) => url.searchParams.append('code', 'x')],
  ] as const) {
    test(`with ${name}`, async () => {
      const jar = new CookieJar();
      const url = new URL(await beginLogin(jar));
      change(url);
      await assertRefused(await visit(jar, url.href), 401, NOT_CONFIRMED);
    });
  }

  test('in another browser', async () => {
    const url = await beginLogin(new CookieJar());
    await assertRefused(await visit(new CookieJar(), url), 401, NOT_BEGUN);
    const jar = new CookieJar();
    await beginLogin(jar);
    await assertRefused(await visit(jar, url), 401, NOT_CONFIRMED);
  });

  test('a second time, also with the cookie of the first', async () => {
    const jar = new CookieJar();
    const url = await beginLogin(jar);
    const attempt = jar.valueOf(OPERATOR_URL, 'tiba-login') ?? '';
    assert.equal((await visit(jar, url)).status, 303);
    await assertRefused(await visit(jar, url), 401, NOT_BEGUN);
    jar.replace(OPERATOR_URL, 'tiba-login', attempt);
    await assertRefused(await visit(jar, url), 401, NOT_CONFIRMED);
  });

  test('after ten minutes, and with a cookie of another key', async () => {
    const seal = createSeal(SECRET_KEY);
    for (const [key, expiresAtMs] of [
      [SECRET_KEY, Date.now() - 1],
      [Buffer.alloc(32, 8), Date.now() + 60_000],
    ] as const) {
      const jar = new CookieJar();
      const url = await beginLogin(jar);
      const attempt = seal.open(Buffer.from(jar.valueOf(OPERATOR_URL, 'tiba-login') ?? '', 'base64url'));
      const changed = JSON.stringify({ ...JSON.parse(attempt), expiresAtMs });
      jar.replace(OPERATOR_URL, 'tiba-login', createSeal(key).seal(changed).toString('base64url'));
      await assertRefused(await visit(jar, url), 401, NOT_BEGUN);
    }
  });

  for (const [name, change] of [
    ['nonce', { nonce: 'of another login' }],
    ['issuer', { iss: 'https://login.example.com' }],
    ['audience', { aud: 'another-client' }],
    ['time', { iat: 1, exp: 2 }],
  ] as const) {
    test(`whose ID token has another ${name}`, async () => {
      provider.changeIdToken = (claims) => ({ ...claims, ...change });
      const jar = new CookieJar();
      await assertRefused(await visit(jar, await beginLogin(jar)), 401, NOT_CONFIRMED);
    });
  }

  test('whose subject has invisible characters, or too many', async () => {
    for (const sub of ['siti\u0000', '\u202eitis', 's'.repeat(256)]) {
      provider.changeIdToken = (claims) => ({ ...claims, sub, roles: ['helpdesk'] });
      const jar = new CookieJar();
      await assertRefused(await visit(jar, await beginLogin(jar)), 401, /subject \(sub\) .* control characters/);
    }
  });

  test('whose ID token another key has signed', async () => {
    provider.usesOtherKey = true;
    const jar = new CookieJar();
    await assertRefused(await visit(jar, await beginLogin(jar)), 401, NOT_CONFIRMED);
  });
});

test('logins from one address are limited', async () => {
  // Regression: each address of an IPv6 network had a limit of its own.
  address = '2001:db8:1:a::1';
  const jar = new CookieJar();
  const url = new URL(await beginLogin(jar));
  const attempt = jar.valueOf(OPERATOR_URL, 'tiba-login') ?? '';
  url.searchParams.set('code', 'x'.repeat(43));
  for (let count = 1; count < 30; count += 1) {
    address = `2001:db8:1:a::${count}`;
    assert.equal((await visit(jar, url.href)).status, 401);
    jar.store(OPERATOR_URL, new Response(null, { headers: { 'set-cookie': `tiba-login=${attempt}; Path=/` } }));
  }
  const response = await visit(jar, url.href);
  assert.ok(Number(response.headers.get('retry-after')) > 0);
  await assertRefused(response, 429, /Too many logins from this address/);
  address = '2001:db8:1:b::1';
  assert.equal((await visit(new CookieJar(), `${OPERATOR_URL}/operator/login`)).status, 303);
});

test('cookies without a session are counted as failed authentications; a session goes on', async () => {
  const browser = await logIn();
  const statuses: number[] = [];
  for (let count = 0; count < 6; count += 1) {
    const headers = { cookie: `tiba-operator=${String(count).repeat(59)}`, 'x-forwarded-for': address };
    statuses.push((await send(`${service.operatorUrl}/operator/v1/session`, { headers })).status);
  }
  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429]);
  assertSuccess(await browser.get('session'));
});

test('an error that the browser brings is logged without a stack', async () => {
  const jar = new CookieJar();
  const url = new URL(await beginLogin(jar));
  url.searchParams.set('error', 'server_error');
  await assertRefused(await visit(jar, url.href), 503, /the identity provider does not answer/);
  const line = service.logged.find(({ reason }) => reason === 'server_error') ?? assert.fail('no line');
  assert.equal(line['err'], undefined);
  assert.ok(!service.logged.some((each) => JSON.stringify(each).includes('AuthorizationResponseError')));
});

suite('without the provider', () => {
  test('a login gets 503 with what to do, and sessions go on', async () => {
    const browser = await logIn();
    const jar = new CookieJar();
    const url = await beginLogin(jar);
    provider.isFailing = true;
    const response = await visit(jar, url);
    assert.ok(Number(response.headers.get('retry-after')) > 0);
    await assertRefused(response, 503, /Temporarily unavailable: the identity provider does not answer/);
    assertSuccess(await browser.get('overdue'));
  });

  test('that is down, or claims to be another, a login gets 503', async () => {
    const impostor = createServer((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ issuer: provider.issuer, authorization_endpoint: `${provider.issuer}/auth` }));
    });
    await new Promise<void>((resolve) => impostor.listen(0, '127.0.0.1', resolve));
    const { port } = impostor.address() as AddressInfo;
    const issuer = `http://127.0.0.1:${port}`;
    const settings = peopleSettings(issuer);
    const service2 = await startTestService({ rails: [], settings, secretKey: SECRET_KEY, database: service.database });
    try {
      for (const isUp of [true, false]) {
        if (!isUp)
          await new Promise<void>((resolve) => (impostor.close(() => resolve()), impostor.closeAllConnections()));
        const response = await visit(new CookieJar(), `${OPERATOR_URL}/operator/login`, service2);
        await assertRefused(response, 503, /the identity provider does not answer, or does not know Tiba/);
      }
    } finally {
      impostor.close();
      await service2.close();
    }
  });
});

test('the log has no code, state or token of a login, and says why one was refused', async () => {
  const jar = new CookieJar();
  const url = new URL(await beginLogin(jar));
  const code = url.searchParams.get('code') ?? assert.fail('no code');
  url.searchParams.set('state', 'forged');
  await visit(jar, url.href);
  const lines = service.logged.filter(({ msg }) => String(msg).startsWith('a login was refused'));
  assert.ok(
    lines.some(({ reason }) => /state/.test(String(reason))),
    JSON.stringify(lines),
  );
  assert.ok(!JSON.stringify(service.logged).includes(code));
});
