import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import pino from 'pino';
import { type RunningBank, startBank } from '../../apps/bank/src/server.ts';
import { type BankSettings } from '../../apps/bank/src/settings.ts';
import type { AppOptions } from '../../apps/server/src/app/app-context.ts';
import { type App, startApp } from '../../apps/server/src/app/start-app.ts';
import type { Scope } from '../../apps/server/src/auth/scopes.ts';
import { hashSecret } from '../../apps/server/src/auth/secrets.ts';
import { readSettings, type Settings } from '../../apps/server/src/config/config.ts';
import { createBankDirectory } from '../../apps/server/src/domain/bank.ts';
import bankEntries from '../../apps/server/src/domain/banks.json' with { type: 'json' };
import { describeError } from '../../apps/server/src/observability/log.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { createSnapRail } from '../../apps/server/src/rails/snap/snap-rail.ts';
import { partnerSettings } from '../bank/partner.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { judgeNotedAnswers, noteAnswersOf } from './described-answers.ts';
import { type Answer, CLIENT_SCOPES, send } from './requests.ts';
import { rsaKeys } from './rsa-keys.ts';
import { timeLimitMs } from './suite-environment.ts';

export type { Answer, Envelope } from './requests.ts';
export { CLIENT_SCOPES, send, statusUpdate } from './requests.ts';

export interface TestClient {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly token: string;
}

/** The service over real HTTP on free ports, with a real PostgreSQL and, by default, the simulated bank. */
export interface TestService {
  readonly app: App;
  readonly url: string;
  readonly operatorUrl: string;
  readonly database: TestDatabase;
  /** The log so far, one parsed line each. */
  readonly logged: Record<string, unknown>[];
  /** Two clients of the API, and the disbursement core. */
  readonly alpha: TestClient;
  readonly beta: TestClient;
  readonly core: TestClient;
  addClient(clientId: string, scopes: readonly Scope[], limits?: TestLimits): Promise<TestClient>;
  /** GET on the public listener, by default as alpha. */
  get(path: string, options?: RequestOptions): Promise<Answer>;
  /** POST check-account, by default as alpha. A string is sent as it is. */
  checkAccount(body: unknown, options?: RequestOptions): Promise<Answer>;
  /** POST to the feed as core. A string is sent as NDJSON, anything else as JSON. */
  feed(updates: unknown): Promise<Answer>;
  close(): Promise<void>;
}

export interface RequestOptions {
  /** null sends no Authorization. */
  readonly token?: string | null;
  readonly headers?: Record<string, string>;
  readonly method?: string;
}

type TestLimits = Partial<Record<'check-status' | 'check-account' | 'accounts-per-day', number>>;

export interface TestServiceOptions
  extends Pick<
    AppOptions,
    | 'bankAvailability'
    | 'limitClock'
    | 'lookUp'
    | 'inquiries'
    | 'enumerationGuard'
    | 'longPoll'
    | 'resolveName'
    | 'slowPeers'
    | 'certificateIntervalMs'
    | 'wallClock'
    | 'valkeyTimeoutMs'
  > {
  readonly settings?: Partial<Omit<Settings, 'secretKey'>>;
  readonly secretKey?: Buffer;
  /** The limits of each client per minute; by default far more than a test requests. */
  readonly limits?: TestLimits;
  /** Instead of the simulated bank. */
  readonly rails?: readonly Rail[];
  readonly bank?: Partial<BankSettings>;
  /** An existing database, which is then not dropped. */
  readonly database?: TestDatabase;
}

const PLENTY = { 'check-status': 1_000_000, 'check-account': 1_000_000 };

export const testBanks = createBankDirectory(bankEntries);

export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const database = options.database ?? (await createTestDatabase());
  const logged: Record<string, unknown>[] = [];
  const { rails, bank } =
    options.rails === undefined ? await startBankRail(options.bank) : { rails: options.rails, bank: null };
  const releaseAll = async (): Promise<void> => {
    await bank?.close();
    if (options.database === undefined) await database.drop();
  };
  const app = await startApp(appOptions(options, database, rails, logged)).catch(async (error: unknown) => {
    // Open handles would keep the test process from exiting.
    await releaseAll();
    throw error;
  });
  noteAnswersOf(app.publicUrl, 'public');
  noteAnswersOf(app.operatorUrl, 'operator');
  const limits = options.limits ?? PLENTY;
  const clients = {
    alpha: await addClient(app, 'alpha', CLIENT_SCOPES, limits),
    beta: await addClient(app, 'beta', CLIENT_SCOPES, limits),
    core: await addClient(app, 'core', ['feed:write'], PLENTY),
  };
  return {
    app,
    url: app.publicUrl,
    operatorUrl: app.operatorUrl,
    database,
    logged,
    ...clients,
    addClient: (clientId, scopes, clientLimits = PLENTY) => addClient(app, clientId, scopes, clientLimits),
    ...createRequests(app, clients),
    async close() {
      try {
        await app.close();
      } finally {
        await releaseAll();
      }
      judgeNotedAnswers([app.publicUrl, app.operatorUrl]);
    },
  };
}

const appOptions = (
  options: TestServiceOptions,
  database: TestDatabase,
  rails: readonly Rail[],
  logged: Record<string, unknown>[],
): AppOptions => ({
  environment: 'sandbox',
  settings: {
    ...readSettings('sandbox', {
      TIBA_PORT: '0',
      TIBA_OPERATOR_PORT: '0',
      TIBA_AUTHENTICATION_FAILURES_PER_MINUTE: '1000000',
      TIBA_EVENTS_PER_MINUTE: '1000000',
      TIBA_CALLBACKS_PER_MINUTE: '1000000',
      TIBA_BANKS_PER_MINUTE: '1000000',
      TIBA_ACCOUNT_VALIDATIONS_PER_MINUTE: '1000000',
      TIBA_TRANSACTIONS_PER_MINUTE: '1000000',
      TIBA_ACCOUNT_CHECKS_PER_MINUTE: '1000000',
      // A machine that is busy with tests delays every event loop.
      TIBA_EVENT_LOOP_DELAY_MS: '0',
    }),
    secretKey: options.secretKey ?? Buffer.alloc(32, 7),
    ...options.settings,
  },
  connection: database.connection,
  banks: testBanks,
  rails,
  logging: {
    log: pino({ base: null, serializers: { err: describeError } }, collector(logged)),
    writeLine: (line) => void logged.push(JSON.parse(line)),
    droppedLines: () => 0,
  },
  // On a machine that is busy with tests PostgreSQL's notifications are late, and without them no client is
  // authenticated. Tests of this use the same limit.
  notifications: { staleAfterMs: timeLimitMs(1_000) },
  ...(options.bankAvailability === undefined ? {} : { bankAvailability: options.bankAvailability }),
  ...(options.limitClock === undefined ? {} : { limitClock: options.limitClock }),
  ...(options.lookUp === undefined ? {} : { lookUp: options.lookUp }),
  ...(options.inquiries === undefined ? {} : { inquiries: options.inquiries }),
  ...(options.enumerationGuard === undefined ? {} : { enumerationGuard: options.enumerationGuard }),
  ...(options.longPoll === undefined ? {} : { longPoll: options.longPoll }),
  ...(options.resolveName === undefined ? {} : { resolveName: options.resolveName }),
  ...(options.slowPeers === undefined ? {} : { slowPeers: options.slowPeers }),
  ...(options.wallClock === undefined ? {} : { wallClock: options.wallClock }),
  ...(options.certificateIntervalMs === undefined ? {} : { certificateIntervalMs: options.certificateIntervalMs }),
  // A process that is stopped for longer than the 50 ms of production decides by itself, which is right but not exact.
  valkeyTimeoutMs: options.valkeyTimeoutMs ?? timeLimitMs(300),
});

async function addClient(
  app: App,
  clientId: string,
  scopes: readonly Scope[],
  limits: TestLimits,
): Promise<TestClient> {
  const clientSecret = randomBytes(32).toString('base64url');
  await insertClient(app.database, {
    clientId,
    name: clientId,
    secretHash: hashSecret(clientSecret),
    scopes,
    limits,
  });
  await app.clients.reload();
  const client = app.clients.find(clientId);
  if (client === undefined) throw new Error(`client ${clientId} was not created`);
  return { clientId, clientSecret, token: await app.issue(client, [...client.scopes], 900) };
}

function createRequests(
  app: App,
  { alpha, core }: Pick<TestService, 'alpha' | 'core'>,
): Pick<TestService, 'get' | 'checkAccount' | 'feed'> {
  const authorization = (token: string | null | undefined): Record<string, string> =>
    token === null ? {} : { authorization: `Bearer ${token ?? alpha.token}` };
  return {
    get: (path, { token, headers, method = 'GET' } = {}) =>
      send(app.publicUrl + path, { method, headers: { ...authorization(token), ...headers } }),
    checkAccount: (body, { token, headers, method = 'POST' } = {}) =>
      send(`${app.publicUrl}/api/v1/check-account`, {
        method,
        headers: { 'content-type': 'application/json', ...authorization(token), ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    feed: (updates) =>
      send(`${app.operatorUrl}/feed/v1/transactions`, {
        method: 'POST',
        headers: {
          'content-type': typeof updates === 'string' ? 'application/x-ndjson' : 'application/json',
          authorization: `Bearer ${core.token}`,
        },
        body: typeof updates === 'string' ? updates : JSON.stringify(updates),
      }),
  };
}

/** The simulated bank in this process, and the rail to it. */
async function startBankRail(changes: Partial<BankSettings> = {}): Promise<{ rails: Rail[]; bank: RunningBank }> {
  const keys = rsaKeys();
  const settings = { ...partnerSettings(keys), ...changes };
  const bank = await startBank(settings);
  const rail = createSnapRail({
    name: 'simulated-bank',
    baseUrl: bank.baseUrl,
    clientKey: settings.clientKey,
    clientSecret: settings.clientSecret,
    privateKey: keys.privateKey,
    partnerId: settings.partnerId,
    channelId: settings.channelId,
    ownBank: 'CENAIDJA',
    banks: null,
  });
  return { rails: [rail], bank };
}

function collector(lines: Record<string, unknown>[]): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const line of chunk.toString().split('\n')) if (line !== '') lines.push(JSON.parse(line));
      done();
    },
  });
}
