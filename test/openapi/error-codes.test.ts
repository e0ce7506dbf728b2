import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { exchangeOne, openRawConnection, type RawConnection, rawRequest } from '../contract/raw-connection.ts';
import { logIn } from '../operator/browser.ts';
import { judge } from '../support/described-answers.ts';
import { documentOf, type Listener, operationsOf } from '../support/openapi.ts';
import {
  type Answer,
  CLIENT_SCOPES,
  send,
  startTestService,
  statusUpdate,
  type TestService,
} from '../support/service.ts';
import { describedErrors, errorKey } from './described-errors.ts';
import {
  BODIES,
  CLIENTS,
  CRASHING,
  DELIVERIES,
  ENDPOINTS,
  GOOD,
  RANGE,
  REPLAYS,
  VALIDATIONS,
  WITH_UNKNOWN_PATH,
  WITH_WRONG_BODY,
  WITH_WRONG_QUERY,
} from './error-requests.ts';

/**
 * Each error that an OpenAPI document describes for an operation is the answer to a request here. REQUEST_TIMEOUT takes
 * ten seconds: test/contract/slow-peers.test.ts.
 */

const CONNECTIONS_MAX = 60;

let isBroken = false;
const bank: Rail = {
  name: 'bank',
  reaches({ bic }) {
    if (isBroken) throw new Error('a crash');
    return bic !== 'BRINIDJA';
  },
  inquireAccount({ accountNumber }) {
    if (accountNumber.reveal() === CRASHING) return Promise.reject(new Error('a crash'));
    const verdict = { status: 'ACTIVE', accountName: 'SITI AMINAH' } as const;
    return Promise.resolve({ kind: 'verdict', verdict, railCode: '00' });
  },
  close: () => Promise.resolve(),
};

let nowMs = 0;
let service: TestService;
let values: Readonly<Record<string, string>>;
/** What the browser of a person sends. */
let person: Readonly<Record<string, string>>;
const tokens: Record<string, string> = {};
const seen = new Set<string>();

before(async () => {
  service = await startTestService({
    rails: [bank],
    limitClock: () => nowMs,
    settings: {
      connectionsPerAddress: CONNECTIONS_MAX,
      authenticationFailuresPerMinute: 1,
      eventsPerMinute: 1,
      callbacksPerMinute: 1,
      banksPerMinute: 1,
      accountValidationsPerMinute: 1,
      transactionsPerMinute: 1,
      accountChecksPerMinute: 1,
      metricsToken: 'a token that no request here has',
    },
  });
  const addToken = async (
    clientId: string,
    ...[scopes, limits]: [Parameters<TestService['addClient']>[1], object?]
  ) => {
    tokens[clientId] = (await service.addClient(clientId, scopes, limits ?? {})).token;
  };
  await addToken('limited', CLIENT_SCOPES, { 'check-status': 1, 'check-account': 1 });
  await addToken('operator', ['operator:read', 'operator:write', 'operator:unmask', 'audit:read']);
  await addToken('busy', CLIENT_SCOPES);
  const { cookie, csrfToken } = await logIn(service, { subject: 'siti', name: 'Siti', role: 'approver' });
  person = { cookie, 'x-csrf-token': csrfToken };
  values = await createResources();
});
after(() => service?.close());

interface Target {
  readonly listener: Listener;
  readonly method: string;
  readonly template: string;
  /** Whether a person must send it. */
  readonly isPersonal: boolean;
}

interface Request {
  readonly path?: string;
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

const urlOf = (listener: Listener): string => (listener === 'public' ? service.url : service.operatorUrl);

const targetsOf = (listener: Listener): (Target & { readonly isProtected: boolean })[] =>
  operationsOf(documentOf(listener)).map(({ path: template, method, operation }) => {
    const { security = [] } = operation;
    const isProtected = security.some((requirement) => 'accessToken' in requirement);
    const isPersonal = !isProtected && security.some((requirement) => 'session' in requirement);
    return { listener, method: method.toUpperCase(), template, isProtected, isPersonal };
  });

const TARGETS = (['public', 'operator'] as const).flatMap(targetsOf);

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

function bodyOf({ template }: Target): unknown {
  const range = { endpoint_id: values['endpoint_id'], ...RANGE };
  if (template === '/api/v1/callback-deliveries/replay') return range;
  if (template === REPLAYS) return { client_id: 'alpha', ...range, dry_run: true };
  return template === '/oauth/token' ? 'grant_type=client_credentials' : BODIES[template];
}

function tokenOf({ template, listener }: Target): string {
  if (template.startsWith('/feed/')) return service.core.token;
  return listener === 'operator' ? (tokens['operator'] ?? '') : service.alpha.token;
}

const pathOf = ({ template }: Target): string => {
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? 'none');
  return path === '/api/v1/check-status' ? `${path}?reference_id=one` : path;
};

/** Sends the operation's valid request with changes, and notes its error. `waits` for new limits by default. */
async function ask(target: Target, { path, token, headers, body }: Request = {}, waits = true): Promise<Answer> {
  if (waits) nowMs += 61_000;
  const { method, template } = target;
  const bearer = token === undefined ? tokenOf(target) : token;
  const sent = method === 'GET' ? undefined : (body ?? bodyOf(target));
  const type = template === '/oauth/token' ? FORM : { 'content-type': 'application/json' };
  const answer = await send(urlOf(target.listener) + (path ?? pathOf(target)), {
    method,
    headers: {
      ...(bearer === null || template === '/oauth/token' || target.isPersonal
        ? {}
        : { authorization: `Bearer ${bearer}` }),
      ...(target.isPersonal ? person : {}),
      ...(sent === undefined ? {} : type),
      ...headers,
    },
    ...(sent === undefined
      ? {}
      : { body: typeof sent === 'string' || Buffer.isBuffer(sent) ? sent : JSON.stringify(sent) }),
  });
  return note(target, answer);
}

function note({ method, template }: Target, answer: Answer): Answer {
  const { error } = answer.json as { error?: string };
  const code = answer.json.error_code ?? error;
  if (code !== undefined) seen.add(errorKey(method, template, answer.status, code));
  return answer;
}

/** Sends bytes that no HTTP client would send. */
async function askRaw(target: Target, headers: Readonly<Record<string, string>>): Promise<void> {
  const { listener, method, template } = target;
  const path = pathOf(target);
  const answer = note(target, await exchangeOne(urlOf(listener), rawRequest(method, path, { headers })));
  const contentType = answer.headers.get('content-type');
  judge({ listener, method, path: template, status: answer.status, contentType, text: answer.text });
}

const target = (method: string, template: string): Target =>
  TARGETS.find((each) => each.method === method && each.template === template) ?? assert.fail(template);

/** A transaction, a bulk validation, a callback endpoint and a delivery of alpha. */
async function createResources(): Promise<Record<string, string>> {
  values = { transaction_id: 'TB0000000001', code: 'BCA' };
  const endpoint = await ask(target('POST', ENDPOINTS));
  await service.feed([statusUpdate({ reference_id: 'one', status: 'SUCCESS' })]);
  const validation = await ask(target('POST', VALIDATIONS));
  const endpointId = String(endpoint.json.data?.['endpoint_id']);
  return {
    ...values,
    endpoint_id: endpointId,
    delivery_id: `${endpointId}-1`,
    validation_id: String(validation.json.data?.['validation_id']),
    proposal_id: await createProposal(),
    // None has these IDs.
    key_id: '0'.repeat(16),
    replay_id: `rp_${'0'.repeat(20)}`,
  };
}

/** More than any operation takes; the feed and the bulk validations take more than others. */
const tooLargeFor = ({ template }: Target): Buffer => {
  const bytes = template === VALIDATIONS ? 17 * 1024 * 1024 : template.startsWith('/feed/') ? 2 * 1024 * 1024 : 200_000;
  return Buffer.alloc(bytes, ' ');
};

/** The errors that every operation can have, as far as it has a token or a body. */
async function askForCommonErrors(each: (typeof TARGETS)[number]): Promise<void> {
  // In two spellings, because an object has each name once.
  await askRaw(each, { host: 'one', Host: 'two' });
  await askRaw(each, { 'x-filler': 'x'.repeat(17_000) });
  if (each.method !== 'GET') {
    await ask(each, { body: tooLargeFor(each) });
    await ask(each, { body: 'x', headers: { 'content-type': 'text/plain' } });
  }
  if (each.isPersonal) {
    for (const headers of [{ authorization: 'Bearer x' }, { cookie: '' }, { accept: 'image/png' }])
      await ask(each, { headers });
    const headers = { cookie: `tiba-operator=${'x'.repeat(59)}` };
    for (const waits of [true, false]) await ask(each, { headers }, waits);
  }
  if (!each.isProtected) return;
  await ask(each, { token: 'bad' });
  await ask(each, { token: 'bad' }, false);
  await ask(each, { token: each.template.startsWith('/feed/') ? service.alpha.token : service.core.token });
  await ask(each, { headers: { accept: 'image/png' } });
  if (each.listener === 'operator') return;
  await ask(each, { token: tokens['limited'] ?? '' });
  await ask(each, { token: tokens['limited'] ?? '' }, false);
}

/** Errors of operations whose resources are in a certain state. */
async function askForConflicts(): Promise<void> {
  const validations = target('POST', VALIDATIONS);
  await ask(validations, { headers: { 'idempotency-key': '""' } });
  await ask(validations, { headers: { 'idempotency-key': 'one' } });
  await ask(validations, { headers: { 'idempotency-key': 'one' }, body: { accounts: [GOOD, GOOD] } });
  // Running validations that never end, because they have no rows.
  await service.app.database.query(
    `insert into tiba.account_validations (client_id, validation_id, row_count)
     select 'busy', 'av_' || lpad(to_hex(each), 20, '0'), 1 from generate_series(1, 10) as each`,
  );
  await ask(validations, { token: tokens['busy'] ?? '' });

  const register = target('POST', ENDPOINTS);
  for (let count = 0; count < 11; count += 1) await ask(register, { token: tokens['busy'] ?? '' });
  const replays = target('POST', REPLAYS);
  for (const from of [RANGE.from, '2026-11-19T00:00:00Z']) {
    const body = { client_id: 'alpha', endpoint_id: values['endpoint_id'], ...RANGE, from, reason: 'A test of errors' };
    await ask(replays, { headers: { 'idempotency-key': 'one' }, body });
  }
  await ask(target('PATCH', `${ENDPOINTS}/{endpoint_id}`), { body: { disabled: true } });
  await ask(replays);
  await ask(target('POST', `${DELIVERIES}/{delivery_id}/replay`));
  await ask(target('POST', '/operator/v1/callback-deliveries/{delivery_id}/resend'));
  await ask(target('POST', `${DELIVERIES}/replay`));
  await askForConflictsOfClients();
  for (const decision of ['approve', 'refuse'])
    await ask(target('POST', `/operator/v1/proposals/{proposal_id}/${decision}`));
}

/** A client_id that is too long for SNAP or exists already, a client with two secrets, one with all its endpoints. */
async function askForConflictsOfClients(): Promise<void> {
  const long = 'a'.repeat(40);
  await service.addClient(long, ['status:read']);
  const ofClient = (method: string, template: string, clientId: string): Promise<Answer> =>
    ask(target(method, `${CLIENTS}/{client_id}/${template}`), { path: `${CLIENTS}/${clientId}/${template}` });
  for (const [method, template] of [
    ['PATCH', 'snap'],
    ['POST', 'snap/keys'],
    ['POST', 'snap/secret'],
  ] as const)
    await ofClient(method, template, long);
  await ofClient('POST', 'callback-endpoints', 'busy');
  const { secrets } = (await ofClient('GET', 'secrets', long)).json.data as { secrets: { secret_id: string }[] };
  const path = `${CLIENTS}/${long}/secrets/${secrets[0]?.secret_id}/retire`;
  await ask(target('POST', `${CLIENTS}/{client_id}/secrets/{secret_id}/retire`), { path });
  for (let count = 0; count < 2; count += 1) await ofClient('POST', 'secrets', long);
  await ask(target('POST', CLIENTS));
}

/** A proposal of another person, which has expired. */
async function createProposal(): Promise<string> {
  const proposalId = `pr_${'0'.repeat(20)}`;
  await service.app.database.query(
    `insert into tiba.operator_proposals (proposal_id, kinds, action, payload, payload_hash, reason, proposer,
                                          proposer_name, proposer_session, proposer_role, origin, expires_at)
     values ($1, '{limits}', 'client change', '{}', '', 'why', 'person:budi', 'Budi', 'os_1', 'engineer', '::1', now())`,
    [proposalId],
  );
  return proposalId;
}

async function askForOAuthErrors(): Promise<void> {
  const login = target('POST', '/oauth/token');
  const { clientId, clientSecret } = service.alpha;
  const basic = (secret: string) => ({
    authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`,
  });
  await ask(login, { headers: basic('wrong') });
  await ask(login, { headers: basic('wrong') }, false);
  for (const body of ['a=1&a=2', 'grant_type=x', 'grant_type=client_credentials&scope=x']) {
    await ask(login, { headers: basic(clientSecret), body });
  }
}

/** Answers to connections beyond the limit. */
async function askWithoutConnections(): Promise<void> {
  const held: RawConnection[] = [];
  try {
    for (const listener of ['public', 'operator'] as const) {
      for (let count = 0; count < CONNECTIONS_MAX; count += 1) held.push(await openRawConnection(urlOf(listener)));
    }
    for (const each of TARGETS) await askRaw(each, {});
  } finally {
    for (const connection of held) connection.end();
  }
}

/** Answers of a service with a defect: its tables are not there, and its rail throws. */
async function askWithDefects(): Promise<void> {
  const { database } = service.app;
  await database.query('alter schema tiba rename to elsewhere');
  isBroken = true;
  try {
    for (const each of TARGETS) await ask(each);
  } finally {
    isBroken = false;
    await database.query('alter schema elsewhere rename to tiba');
  }
}

test('each error that is described for an operation is the answer to a request', async () => {
  for (const each of TARGETS) await askForCommonErrors(each);
  for (const [template, query] of WITH_WRONG_QUERY) {
    const each = target('GET', template);
    await ask(each, { path: pathOf(each) + query });
  }
  for (const [method, template, path] of WITH_UNKNOWN_PATH) await ask(target(method, template), { path });
  for (const [method, template, body] of WITH_WRONG_BODY) await ask(target(method, template), { body });
  for (const template of ['/api/v1/check-status/{transaction_id}', '/api/v1/check-status'])
    await ask(target('GET', template), { headers: { accept: 'text/event-stream', 'last-event-id': '999' } });
  await askForConflicts();
  await askForOAuthErrors();
  await askWithDefects();
  await askWithoutConnections();
  const described = (['public', 'operator'] as const).flatMap(describedErrors);
  assert.ok(described.length > 350, `${described.length} errors are described`);
  assert.deepEqual(
    described.filter((each) => !seen.has(each) && !each.endsWith(' 408 REQUEST_TIMEOUT')),
    [],
  );
});
