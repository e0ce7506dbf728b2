import pg from 'pg';
import { createAsking } from './asking/asking.ts';
import {
  builtInKeys,
  createAccessTokenIssuer,
  createAccessTokenVerifier,
  externalKeys,
  type IssueAccessToken,
} from './auth/access-tokens.ts';
import { createAuthenticator } from './auth/authenticator.ts';
import { type Clients, createClients } from './auth/clients.ts';
import { createFailureThrottle } from './auth/failure-throttle.ts';
import { createSeal } from './auth/secrets.ts';
import { createSigningKeys, rotateSigningKeys } from './auth/signing-keys.ts';
import { createDeliveries } from './callbacks/deliveries.ts';
import { createCallbackSender } from './callbacks/send.ts';
import { SETTINGS, type Settings } from './config.ts';
import type { BankDirectory } from './domain/bank.ts';
import { createFeed, type Feed } from './feed/feed.ts';
import { createStatusFollowing } from './http/check-status/following.ts';
import { createRetryAfter } from './http/check-status/open-transaction.ts';
import { createGate, createRecheck } from './http/gate.ts';
import { listenAt } from './http/listen.ts';
import { createOperatorListener } from './http/operator.ts';
import { createPublicListener } from './http/public.ts';
import { createChanges } from './ledger/changes.ts';
import { createDurations } from './ledger/durations.ts';
import { createExpectations } from './ledger/expectations.ts';
import { createLedger, type Ledger } from './ledger/ledger.ts';
import { createSlidingWindow, type MonotonicClock } from './limits/sliding-window.ts';
import { createAccessLog } from './observability/access-log.ts';
import type { LogSink } from './observability/log.ts';
import { createMetrics } from './observability/metrics.ts';
import { resolveDestination } from './outbound/destination.ts';
import { createGuardedHttp } from './outbound/guarded-http.ts';
import { CHANGES_CHANNEL } from './postgres/changes.ts';
import { type Database, openDatabase } from './postgres/database.ts';
import type { InstallationEnvironment } from './postgres/installation.ts';
import { JOB_CONNECTIONS } from './postgres/job-worker.ts';
import { listen } from './postgres/notifications.ts';
import { prepareDatabase } from './postgres/prepare.ts';
import { createTransactionLookUp, type LookUpOptions } from './postgres/transaction-lookup.ts';
import { createAccountInquiries } from './rails/account-inquiries.ts';
import type { Rail } from './rails/rail.ts';
import { repeat } from './repeat.ts';
import type { DemoCore } from './sandbox/demo-core.ts';

export interface AppOptions {
  readonly environment: InstallationEnvironment;
  readonly settings: Settings & { readonly secretKey: Buffer };
  readonly connection: pg.ClientConfig;
  readonly banks: BankDirectory;
  readonly rails: readonly Rail[];
  readonly logging: Pick<LogSink, 'log' | 'writeLine'>;
  /** In the sandbox: what plays the operator's disbursement core. */
  readonly demoCore?: DemoCore;
  /** For tests that push the limits' clock. */
  readonly limitClock?: MonotonicClock;
  /** For the benchmark that measures what batching brings. */
  readonly lookUp?: LookUpOptions;
}

export interface App {
  readonly publicUrl: string;
  readonly operatorUrl: string;
  readonly database: Database;
  readonly clients: Clients;
  readonly feed: Feed;
  readonly ledger: Ledger;
  /** How many requests wait for a transaction to change, or stream its changes. */
  waiting(): number;
  /** The built-in issuer's, for tokens that the sandbox hands out. */
  readonly issue: IssueAccessToken;
  /** Stops accepting, answers what is under way, lets go of everything. Safe to call twice. */
  close(): Promise<void>;
}

/** A retired signing key verifies for as long as the longest-lived token: the sandbox's. */
export const TOKEN_LIFETIME_MAX_SECONDS = 24 * 60 * 60;

/** A bank that has just accepted a transfer has nothing to say of it yet. */
const FIRST_INQUIRY_MS = 5_000;
const OVERDUE_INTERVAL_MS = 2_000;
const OVERDUE_BATCH = 500;

/** After SIGTERM, requests under way may take this long; then their connections are cut. */
const DRAIN_TIMEOUT_MS = 10_000;
const HANG_UP_INTERVAL_MS = 50;

/** Wires the whole service by hand, and starts it. Resolves when it can answer. */
export async function startApp(options: AppOptions): Promise<App> {
  const { settings, connection, banks } = options;
  const { log, writeLine } = options.logging;
  const closers: (() => Promise<unknown>)[] = [];
  const close = once(async () => {
    for (const closer of closers.toReversed())
      await closer().catch((error: unknown) => log.error({ err: error }, 'closing failed'));
  });

  try {
    const metrics = createMetrics();
    // Look-ups have connections of their own, so that no feed can keep a status check waiting.
    const lookUpConnections = 4;
    const database = openDatabase({
      connection,
      connectionsMax: Math.max(settings.databaseConnections - lookUpConnections - JOB_CONNECTIONS - 1, 1),
      log,
    });
    closers.push(() => database.close());
    const lookUpDatabase = openDatabase({ connection, connectionsMax: lookUpConnections, log });
    closers.push(() => lookUpDatabase.close());

    await prepareDatabase(database, connection, options.environment);

    const clients = createClients(database, {
      'check-status': settings.checkStatusPerMinute,
      'check-account': settings.checkAccountPerMinute,
    });
    const seal = createSeal(settings.secretKey);
    const keys = createSigningKeys({ database, seal, tokenLifetimeMaxSeconds: TOKEN_LIFETIME_MAX_SECONDS });
    await keys.reload();
    if (!keys.exist()) await rotateSigningKeys(database, seal, 'EdDSA');
    const changes = createChanges();
    const notifications = await listen({
      connection,
      channels: { tiba_clients: clients.reload, tiba_signing_keys: keys.reload },
      messages: { [CHANGES_CHANNEL]: changes },
      log,
    });
    closers.push(() => notifications.close());

    const clock = options.limitClock ?? (() => performance.now());
    const throttle = createFailureThrottle(createSlidingWindow(clock), settings.authenticationFailuresPerMinute);
    let publicUrl = settings.publicUrl ?? '';
    const issuer = (): string => settings.tokenIssuer ?? publicUrl;
    const expected = { issuer, audience: () => settings.tokenAudience ?? publicUrl };
    const verify = createAccessTokenVerifier(
      settings.tokenJwksUrl === null ? builtInKeys(keys) : externalKeys(new URL(settings.tokenJwksUrl)),
      expected,
    );
    const issue = createAccessTokenIssuer(keys, expected);
    const authenticator = createAuthenticator({ clients, notifications, verify, throttle });
    const gate = createGate({ authenticator, limiter: createSlidingWindow(clock), metrics });

    closers.push(() => Promise.all(options.rails.map((rail) => rail.close())));
    const ledger = createLedger({
      database,
      expectedMs: createExpectations(settings.overdueAfter, banks),
      firstInquiryMs: FIRST_INQUIRY_MS,
    });
    const overdue = repeat(
      OVERDUE_INTERVAL_MS,
      () => ledger.observeTime(new Date(), OVERDUE_BATCH),
      (error) => log.warn({ err: error }, 'what is overdue could not be looked for; it is tried again'),
    );
    closers.push(overdue.stop);
    const asking = createAsking({
      database,
      ledger,
      rails: options.rails,
      banks,
      metrics,
      log,
      staleMs: settings.staleSeconds * 1000,
    });
    closers.push(asking.close);
    asking.start();
    const feed = createFeed({
      ledger,
      banks,
      knowsClient: (clientId) => clients.find(clientId) !== undefined,
      onApplied: (outcome) => metrics.feedLines.inc({ outcome }),
    });
    const listener = { log, accessLog: createAccessLog(writeLine), metrics, trustedProxies: settings.trustedProxies };
    const lookUp = createTransactionLookUp(lookUpDatabase, {
      onBatch: (size) => metrics.lookUpBatchSize.observe(size),
      ...options.lookUp,
    });
    const durations = createDurations();
    changes.hearAll(({ bankName, durationMs }) => {
      if (durationMs !== null) durations.heard(bankName, durationMs);
    });
    const retryAfter = createRetryAfter(durations);
    const following = createStatusFollowing({
      lookUp,
      changes,
      retryAfter,
      refresh: asking.refresh,
      refreshMs: settings.staleSeconds * 1000,
      recheck: createRecheck(authenticator),
    });
    const callbackPolicy = {
      ports: settings.callbackPorts,
      allowed: settings.callbackNetworks,
      loopbackHttp: options.environment === 'sandbox',
    };
    const callbackHttp = createGuardedHttp({ policy: callbackPolicy });
    closers.push(() => callbackHttp.close());
    const sendCallback = createCallbackSender({ http: callbackHttp, seal });
    const deliveries = createDeliveries({ connection, database, send: sendCallback, log, metrics });
    closers.push(() => deliveries.close());
    const publicListener = await createPublicListener({
      listener,
      gate,
      database,
      callbacks: {
        seal,
        judge: (url) => resolveDestination(url, callbackPolicy),
        send: sendCallback,
        testLimiter: createSlidingWindow(clock),
      },
      lookUp,
      retryAfter,
      follow: following.follow,
      banks,
      inquiries: createAccountInquiries(options.rails, metrics),
      issuer:
        settings.tokenIssuer === null
          ? {
              url: issuer,
              keys,
              issue,
              endpoint: { clients, notifications, throttle, lifetimeSeconds: settings.tokenSeconds },
            }
          : null,
    });
    const operatorListener = createOperatorListener({
      listener,
      gate,
      database,
      feed,
      demoCore: options.demoCore ?? null,
      readiness: {
        postgres: async () => {
          if (!(await notifications.untilCurrent())) throw new Error('PostgreSQL does not answer');
        },
      },
    });

    for (const each of [operatorListener, publicListener]) closers.push(() => drain(each));
    closers.push(async () => following.end());
    const operatorUrl = await listenAt(operatorListener, {
      host: settings.operatorHost,
      port: settings.operatorPort,
      hostSetting: SETTINGS.operatorHost.name,
      portSetting: SETTINGS.operatorPort.name,
    });
    const listeningUrl = await listenAt(publicListener, {
      host: settings.host,
      port: settings.port,
      hostSetting: SETTINGS.host.name,
      portSetting: SETTINGS.port.name,
    });
    publicUrl ||= listeningUrl;
    log.info({ publicUrl, operatorUrl }, 'ready');
    return { publicUrl, operatorUrl, database, clients, feed, ledger, waiting: changes.watching, issue, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function drain(listener: Awaited<ReturnType<typeof createPublicListener>>): Promise<void> {
  const cut = setTimeout(() => listener.server.closeAllConnections(), DRAIN_TIMEOUT_MS);
  // A connection whose request was under way when closing began is kept alive after its answer, and waited for.
  const hangUp = setInterval(() => listener.server.closeIdleConnections(), HANG_UP_INTERVAL_MS);
  await listener.close();
  clearInterval(hangUp);
  clearTimeout(cut);
}

function once(action: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= action());
}
