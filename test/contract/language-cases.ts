import type { ErrorCode } from '../../apps/server/src/http/errors.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { validationsOf } from '../account-validations/validations.ts';
import { call, DELIVERIES, ENDPOINTS, EVENTS, openSql, register } from '../callbacks/endpoints-harness.ts';
import type { Answer, TestService } from '../support/service.ts';
import { exchangeOne } from './raw-connection.ts';

/** One request for each error code and each success, to be sent with other headers. */

export type Headers = Readonly<Record<string, string>>;
export type Ask = (service: TestService, headers: Headers) => Promise<Answer>;

export const VALIDATIONS = '/api/v1/account-validations';
const NO_ENDPOINT = `${ENDPOINTS}/ep_00000000000000000000`;

const UNREACHED = 'BRINIDJA';
export const CRASHING = '9000000001';
const UNANSWERED = '9000000002';
const REJECTED = '9000000003';
const UNSUPPORTED = '9000000004';
const PENDING = '9000000005';
const UNKNOWN_ACCOUNT = '9000000006';
const ACTIVE = '9000000007';

const noVerdict = (reason: 'bank_unavailable' | 'rejected_by_bank' | 'not_supported') =>
  ({ kind: 'no_verdict', reason, railCode: null }) as const;

/** One account for each thing that a bank can answer. */
export const scriptedRail: Rail = {
  name: 'bank',
  reaches: ({ bic }) => bic !== UNREACHED,
  inquireAccount({ accountNumber }, signal) {
    switch (accountNumber.reveal()) {
      case CRASHING:
        return Promise.reject(new Error('a defect'));
      case UNANSWERED:
        return Promise.resolve(noVerdict('bank_unavailable'));
      case REJECTED:
        return Promise.resolve(noVerdict('rejected_by_bank'));
      case UNSUPPORTED:
        return Promise.resolve(noVerdict('not_supported'));
      case UNKNOWN_ACCOUNT:
        return Promise.resolve({ kind: 'verdict', verdict: { status: 'NOT_FOUND' }, railCode: '1' });
      case PENDING:
        return new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve(noVerdict('bank_unavailable')), { once: true });
        });
      default:
        return Promise.resolve({
          kind: 'verdict',
          verdict: { status: 'ACTIVE', accountName: 'BUDI SANTOSO' },
          railCode: '0',
        });
    }
  },
  close: () => Promise.resolve(),
};

export const get =
  (path: string, more: Headers = {}): Ask =>
  (service, headers) =>
    service.get(path, { headers: { ...more, ...headers } });
export const calling =
  (method: string, path: string, body?: unknown): Ask =>
  (service, headers) =>
    call(service, method, path, { headers, body });
export const checking =
  (account_number: unknown, fields: object = {}): Ask =>
  (service, headers) =>
    service.checkAccount({ bank_code: '014', account_number, ...fields }, { headers });
export const uploading =
  (type: string, body: string, more: Headers = {}): Ask =>
  (service, headers) =>
    validationsOf(service).post(VALIDATIONS, body, { 'content-type': type, ...more, ...headers });
const rows = (...accounts: readonly string[]): string =>
  JSON.stringify({ accounts: accounts.map((account_number) => ({ bank_code: '014', account_number })) });

let clients = 0;
/** As a client of its own: what a limit counts does not reach the other cases. */
async function asNewClient(service: TestService, path: string, headers: Headers): Promise<Answer> {
  clients += 1;
  const { token } = await service.addClient(`limited-${clients}`, ['status:read'], { 'check-status': 1 });
  await call(service, 'GET', path, { token });
  return call(service, 'GET', path, { token, headers });
}

/** Connections that ended early, and the operator listener, which answers in English. */
type WithoutLanguage = 'REQUEST_TIMEOUT' | 'HEADERS_TOO_LARGE' | 'PROPOSAL_CONFLICT' | 'CLIENT_CONFLICT';

/** One case or more for each error code: a code without one does not compile. */
export const ERRORS: Readonly<Record<Exclude<ErrorCode, WithoutLanguage>, readonly Ask[]>> = {
  UNAUTHORIZED: [
    (service, headers) => service.get('/api/v1/check-status/one', { token: 'bad', headers }),
    (service, headers) => service.get('/api/v1/check-status/one', { token: null, headers }),
  ],
  FORBIDDEN: [(service, headers) => service.get('/api/v1/check-status/one', { token: service.core.token, headers })],
  RATE_LIMIT_EXCEEDED: [
    (service, headers) => asNewClient(service, '/api/v1/check-status/one', headers),
    async (service, headers) => {
      clients += 1;
      const { token } = await service.addClient(`batch-${clients}`, ['status:read'], { 'check-status': 5 });
      const body = { ids: Array.from({ length: 60 }, () => 'one') };
      return call(service, 'POST', '/api/v1/check-status/batch', { token, headers, body });
    },
  ],
  TRANSACTION_NOT_FOUND: [get('/api/v1/check-status/none')],
  INVALID_TRANSACTION_ID: [
    get('/api/v1/check-status/%00'),
    get('/api/v1/check-status'),
    get('/api/v1/check-status?reference_id=1&reference_id=2'),
    get('/api/v1/check-status?reference_id=%00'),
  ],
  INVALID_BANK_CODE: [
    checking(ACTIVE, { bank_code: '999' }),
    checking(ACTIVE, { bank_code: 14 }),
    checking(ACTIVE, { bank_code: undefined }),
    get('/api/v1/banks/NONE'),
  ],
  UNSUPPORTED_BANK: [checking(ACTIVE, { bank_code: UNREACHED })],
  INVALID_FORMAT: [
    checking('12'),
    checking(12),
    checking(undefined),
    checking('123456'),
    checking(ACTIVE, { expected_account_name: '' }),
    (service, headers) => service.checkAccount('{', { headers }),
    (service, headers) => service.checkAccount('[]', { headers }),
    calling('POST', '/api/v1/check-status/batch', { ids: [] }),
    calling('POST', '/api/v1/check-status/batch', { ids: [1] }),
    uploading('application/json', ''),
    uploading('application/json', '{"accounts":1}'),
    uploading('application/json', '{"accounts":[]}'),
    uploading('application/json', '{"accounts":\n!}'),
    (service, headers) => {
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      return exchangeOne(service.url, `GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n${lines.join('')}\r\n`);
    },
  ],
  INVALID_REQUEST: [
    calling('POST', ENDPOINTS, { url: 1 }),
    calling('POST', ENDPOINTS, { url: 'ftp://example.com' }),
    calling('POST', ENDPOINTS, { url: 'https://a:b@example.com/' }),
    calling('POST', ENDPOINTS, { url: 'https://example.com/#f' }),
    calling('POST', ENDPOINTS, { url: 'https://example.com./' }),
    calling('POST', ENDPOINTS, { url: 'https://10.0.0.1/' }),
    calling('POST', ENDPOINTS, { url: 'https://intern/' }),
    calling('POST', ENDPOINTS, { url: 'https://example.com:81/' }),
    calling('POST', ENDPOINTS, { url: 'http://example.com/' }),
    calling('POST', ENDPOINTS, { url: 'https://example.com/ a' }),
    calling('POST', ENDPOINTS, { url: `https://example.com/${'a'.repeat(3_000)}` }),
    calling('POST', ENDPOINTS, { url: 'http://127.0.0.1:9/', kinds: [] }),
    calling('PATCH', NO_ENDPOINT, {}),
    calling('PATCH', NO_ENDPOINT, { disabled: 1 }),
    calling('POST', `${DELIVERIES}/replay`, {}),
    calling('POST', `${DELIVERIES}/replay`, { endpoint_id: 'x', from: 'now' }),
    calling('POST', `${DELIVERIES}/replay`, {
      endpoint_id: 'x',
      from: '2026-11-21T00:00:00Z',
      to: '2026-11-20T00:00:00Z',
    }),
    get(`${EVENTS}?after=x`),
    get(`${EVENTS}?after=1&after=2`),
    get(`${DELIVERIES}?state=none`),
    get(`${DELIVERIES}?after=none`),
    uploading('application/json', rows(ACTIVE), { 'idempotency-key': '""' }),
  ],
  ENDPOINT_NOT_FOUND: [get(NO_ENDPOINT), get(`${ENDPOINTS}/none`)],
  DELIVERY_NOT_FOUND: [get(`${DELIVERIES}/none`)],
  VALIDATION_NOT_FOUND: [get(`${VALIDATIONS}/none`)],
  VALIDATION_LIMIT_REACHED: [
    async (service, headers) => {
      clients += 1;
      const client = await service.addClient(`bulk-${clients}`, ['account:check']);
      const validations = validationsOf(service, client);
      for (let validation = 0; validation < 10; validation += 1)
        await validations.create([{ bank_code: '014', account_number: PENDING }]);
      return validations.sendRows([{ bank_code: '014', account_number: PENDING }], headers);
    },
  ],
  IDEMPOTENCY_KEY_REUSED: [
    async (service, headers) => {
      await uploading('application/json', rows(ACTIVE), { 'idempotency-key': 'one' })(service, {});
      return uploading('application/json', rows(UNKNOWN_ACCOUNT), { 'idempotency-key': 'one' })(service, headers);
    },
  ],
  ENDPOINT_LIMIT_REACHED: [
    async (service, headers) => {
      clients += 1;
      const { token } = await service.addClient(`endpoints-${clients}`, ['callbacks:manage']);
      for (let index = 0; index < 10; index += 1) await register(service, {}, token);
      return call(service, 'POST', ENDPOINTS, { token, headers, body: { url: 'http://127.0.0.1:9/' } });
    },
  ],
  ENDPOINT_DISABLED: [
    async (service, headers) => {
      const { endpointId } = await register(service);
      await call(service, 'PATCH', `${ENDPOINTS}/${endpointId}`, { body: { disabled: true } });
      const range = { from: '2026-11-20T00:00:00Z', to: '2026-11-21T00:00:00Z' };
      return call(service, 'POST', `${DELIVERIES}/replay`, { headers, body: { endpoint_id: endpointId, ...range } });
    },
  ],
  CURSOR_GONE: [
    get(`${EVENTS}?after=999999`),
    async (service, headers) =>
      get(`${VALIDATIONS}/${await endedValidation(service)}/results?after=999999`)(service, headers),
    get('/api/v1/check-status/one', { accept: 'text/event-stream', 'last-event-id': '9' }),
  ],
  SERVICE_UNAVAILABLE: [checking(UNANSWERED), checking(REJECTED), checking(UNSUPPORTED)],
  NOT_FOUND: [get('/api/v1/nothing'), get('/api/v1/check-status/INV/1')],
  METHOD_NOT_ALLOWED: [calling('DELETE', '/api/v1/check-account')],
  NOT_ACCEPTABLE: [(service, headers) => get('/api/v1/check-status/one')(service, { accept: 'text/html', ...headers })],
  PAYLOAD_TOO_LARGE: [checking('1'.repeat(20_000))],
  UNSUPPORTED_MEDIA_TYPE: [
    (service, headers) => service.checkAccount('{}', { headers: { 'content-type': 'text/plain', ...headers } }),
    uploading('text/plain', 'x'),
  ],
  INTERNAL_ERROR: [checking(CRASHING)],
};

/** Each operation's success, by its ID in the API description; after a comma, what else it may say. */
export const SUCCESSES: Readonly<Record<string, Ask>> = {
  checkStatus: get('/api/v1/check-status/TB0000000001'),
  checkStatusByReference: get('/api/v1/check-status?reference_id=one'),
  checkStatusBatch: calling('POST', '/api/v1/check-status/batch', { ids: ['one'] }),
  checkAccount: checking(ACTIVE),
  'checkAccount, not valid': checking(UNKNOWN_ACCOUNT),
  listTransactions: get('/api/v1/transactions'),
  listAccountChecks: get('/api/v1/account-checks'),
  listBanks: get('/api/v1/banks'),
  getBank: get('/api/v1/banks/BCA'),
  listEvents: get(EVENTS),
  createAccountValidation: uploading('application/json', rows(ACTIVE)),
  listAccountValidations: get(VALIDATIONS),
  getAccountValidation: async (service, headers) =>
    get(`${VALIDATIONS}/${await endedValidation(service)}`)(service, headers),
  listAccountValidationResults: async (service, headers) =>
    get(`${VALIDATIONS}/${await endedValidation(service)}/results`)(service, headers),
  cancelAccountValidation: async (service, headers) =>
    calling('POST', `${VALIDATIONS}/${await endedValidation(service)}/cancel`)(service, headers),
  'cancelAccountValidation, running': async (service, headers) => {
    const id = await validationsOf(service).create([{ bank_code: '014', account_number: PENDING }]);
    return calling('POST', `${VALIDATIONS}/${id}/cancel`)(service, headers);
  },
  registerCallbackEndpoint: async (service, headers) => {
    clients += 1;
    const { token } = await service.addClient(`registers-${clients}`, ['callbacks:manage']);
    return call(service, 'POST', ENDPOINTS, { token, headers, body: { url: 'http://127.0.0.1:9/' } });
  },
  listCallbackEndpoints: get(ENDPOINTS),
  getCallbackEndpoint: async (service, headers) =>
    get(`${ENDPOINTS}/${(await endpoint(service)).endpointId}`)(service, headers),
  changeCallbackEndpoint: async (service, headers) =>
    calling('PATCH', `${ENDPOINTS}/${(await endpoint(service)).endpointId}`, { disabled: false })(service, headers),
  rotateCallbackSecret: async (service, headers) =>
    calling('POST', `${ENDPOINTS}/${(await endpoint(service)).endpointId}/rotate-secret`)(service, headers),
  testCallbackEndpoint: async (service, headers) =>
    calling('POST', `${ENDPOINTS}/${(await endpoint(service)).endpointId}/test`)(service, headers),
  listCallbackDeliveries: get(DELIVERIES),
  getCallbackDelivery: async (service, headers) => get(`${DELIVERIES}/${await delivery(service)}`)(service, headers),
  replayCallbackDelivery: async (service, headers) =>
    calling('POST', `${DELIVERIES}/${await delivery(service)}/replay`)(service, headers),
  replayCallbackDeliveries: async (service, headers) =>
    calling('POST', `${DELIVERIES}/replay`, {
      endpoint_id: (await endpoint(service)).endpointId,
      from: '2020-01-01T00:00:00Z',
      to: '2020-01-02T00:00:00Z',
    })(service, headers),
};

let endpointOfAlpha: ReturnType<typeof register> | undefined;
const endpoint = (service: TestService) => (endpointOfAlpha ??= register(service));

let endedOfAlpha: Promise<string> | undefined;
export const endedValidation = (service: TestService) =>
  (endedOfAlpha ??= (async () => {
    const validations = validationsOf(service);
    const id = await validations.create([
      { bank_code: '014', account_number: ACTIVE },
      { bank_code: '014', account_number: UNANSWERED },
      { bank_code: '014', account_number: REJECTED },
      { bank_code: '014', account_number: UNSUPPORTED },
      { bank_code: UNREACHED, account_number: ACTIVE },
      { bank_code: 'NONE', account_number: ACTIVE },
      { bank_code: '014', account_number: 12 },
      { bank_code: '014', account_number: ACTIVE, reference: 'x'.repeat(200) },
    ]);
    await validations.untilEnded(id);
    return id;
  })());

/** A delivery of alpha, stored by hand: the replay of an event of before the endpoint. */
async function delivery(service: TestService): Promise<string> {
  const { endpointId } = await endpoint(service);
  const body = { endpoint_id: endpointId, from: '2020-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' };
  await call(service, 'POST', `${DELIVERIES}/replay`, { body });
  const sql = await openSql(service);
  try {
    const [row] = await sql('select min(sequence) as sequence from tiba.callback_deliveries where endpoint_id = $1', [
      endpointId,
    ]);
    return `${endpointId}-${String(row?.['sequence'])}`;
  } finally {
    await sql.end();
  }
}
