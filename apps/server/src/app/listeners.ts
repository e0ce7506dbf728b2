import { Server } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { createSnapCredentials } from '../auth/snap-credentials.ts';
import { SETTINGS, type Settings } from '../config/config.ts';
import type { Bank } from '../domain/bank.ts';
import { connectionsWithin, readOpenFilesMax } from '../http/connections/open-files.ts';
import { createCursors } from '../http/cursors.ts';
import { listenAt } from '../http/listen.ts';
import { createLoadMonitor } from '../http/load-monitor.ts';
import { createOpenWaits } from '../http/open-waits.ts';
import type { Checks, ReadinessChecks } from '../http/operator/health.ts';
import { createOperatorLimits, OPERATOR_WINDOW_MS } from '../http/operator/operator-limits.ts';
import { createOperatorServer } from '../http/operator/operator-server.ts';
import { createPublicServer } from '../http/public-server.ts';
import type { ListenerOptions } from '../http/server.ts';
import { createSnapServer } from '../http/snap/snap-server.ts';
import { StartError } from '../lib/start-error.ts';
import { createAccessLog } from '../observability/access-log.ts';
import type { Log } from '../observability/log.ts';
import { CLOCK_SKEW_MAX_MS, CLOCK_SKEW_WARNING_MS } from '../postgres/process-registry.ts';
import { deleteExternalIds } from '../postgres/snap-external-ids.ts';
import type { AppContext } from './app-context.ts';
import { createGaugeReader } from './gauges.ts';
import { openPeople } from './people.ts';
import { openRetention } from './retention.ts';
import type { Services } from './services.ts';
import { openTls, renewTls } from './tls.ts';

export interface ListenerUrls {
  readonly publicUrl: string;
  readonly operatorUrl: string;
  /** Null where there is no SNAP listener. */
  readonly snapUrl: string | null;
}

/** After SIGTERM, requests in flight may take this long; then their connections are closed. */
const DRAIN_TIMEOUT_MS = 10_000;
const CLOSE_IDLE_INTERVAL_MS = 50;

/**
 * Opens the public listener, the operator listener and, if it is set, the SNAP listener; returns the addresses they are
 * bound to.
 * @throws StartError when one of them cannot listen
 */
export async function openListeners(context: AppContext, services: Services): Promise<ListenerUrls> {
  const { options, metrics, tracing, onClose } = context;
  const { settings, logging } = options;
  const load = createLoadMonitor({ eventLoopDelayMaxMs: settings.eventLoopDelayMs, log: logging.log });
  onClose('load monitor', async () => load.close());
  const listener = {
    log: logging.log,
    metrics,
    accessLog: createAccessLog(logging.writeLine, undefined, options.parent?.process),
    trustedProxies: settings.trustedProxies,
    load,
    tracing,
    trustTraceparent: settings.trustTraceparent,
    isStopping: () => context.endOrder() !== null,
    ...(options.slowPeers === undefined ? {} : { slowPeers: options.slowPeers }),
    ...(settings.staging ? { answerHeaders: { 'tiba-environment': 'staging' } } : {}),
  };
  const connections = limitConnections(settings, logging.log);
  const tls = openTls(settings);
  const forClients = { ...listener, connections: connections.public, tls: tls.public?.identity ?? null };
  const publicServer = await buildPublicServer(context, services, forClients);
  const operatorServer = await buildOperatorServer(context, services, {
    ...listener,
    trustedProxies: settings.operatorTrustedProxies,
    connections: connections.operator,
    tls: tls.operator?.identity ?? null,
  });
  const { snapPort } = settings;
  const snapServer = snapPort === null ? null : buildSnapServer(context, services, forClients);
  const servers = [publicServer, operatorServer, ...(snapServer === null ? [] : [snapServer])];
  renewTls(context, { public: publicServer, operator: operatorServer, snap: snapServer }, tls);
  // All at the same time: after SIGTERM one of them must not take the time of the others.
  onClose('listeners', async () => {
    if (context.endOrder() === 'retire') await untilUnused(servers);
    else if (settings.stopDelaySeconds > 0) await linger(servers);
    await Promise.all(servers.map(drain));
  });
  // The servers could not drain while clients long-poll. Receivers of callbacks get the same time to answer.
  onClose('waits and streams', async () => {
    services.callbacks.endDeliveries();
    services.checkStatus.endLongPolls();
    services.accountValidations.endStreams();
  });
  // Registered last so that it runs first: a load balancer must see that this process is not ready while it still
  // accepts requests.
  onClose('shutdown delay', async () => {
    if (context.endOrder() === 'retire') for (const { server } of servers) acceptNoMore(server);
    else await wait(settings.stopDelaySeconds * 1_000);
  });

  const operatorUrl = await listenAt(operatorServer, {
    host: settings.operatorHost,
    port: settings.operatorPort,
    hostSetting: SETTINGS.operatorHost.name,
    portSetting: SETTINGS.operatorPort.name,
  });
  const listenForClients = (server: FastifyInstance, port: number, portSetting: string): Promise<string> =>
    listenAt(server, { host: settings.host, port, hostSetting: SETTINGS.host.name, portSetting });
  const publicUrl = await listenForClients(publicServer, settings.port, SETTINGS.port.name);
  const snapUrl =
    snapServer === null || snapPort === null
      ? null
      : await listenForClients(snapServer, snapPort, SETTINGS.snapPort.name);
  load.start();
  return { publicUrl, operatorUrl, snapUrl };
}

type ConnectionLimits = ListenerOptions['connections'];

/** As the settings say, and no more than this process can have open. */
function limitConnections(
  { connectionsMax, connectionsPerAddress: perAddress, databaseConnections, snapPort }: Settings,
  log: Pick<Log, 'warn'>,
): Readonly<Record<'public' | 'operator', ConnectionLimits>> {
  const openFilesMax = readOpenFilesMax() ?? Number.POSITIVE_INFINITY;
  const possible = connectionsWithin(openFilesMax - databaseConnections, snapPort === null ? 1 : 2);
  if (possible.public < connectionsMax)
    log.warn(
      { openFilesMax, connectionsMax: possible.public },
      'fewer connections are admitted than TIBA_CONNECTIONS_MAX; raise the limit of open files (ulimit -n)',
    );
  const limitsOf = (total: number): ConnectionLimits => ({ total: Math.min(connectionsMax, total), perAddress });
  return { public: limitsOf(possible.public), operator: limitsOf(possible.operator) };
}

type SharedListenerOptions = Omit<ListenerOptions, 'name'>;

function buildPublicServer(
  { options: { banks, settings, limitClock = () => performance.now() } }: AppContext,
  services: Services,
  listener: SharedListenerOptions,
): Promise<FastifyInstance> {
  const { postgres, authentication, checkStatus } = services;
  return createPublicServer({
    listener: { ...listener, allowedOrigins: settings.corsOrigins },
    authorize: authentication.authorize,
    database: postgres.database,
    status: checkStatus.checkStatus,
    directStatusCheck: authentication,
    callbacks: services.callbacks,
    banks,
    inquiries: services.inquiries,
    processingTimes: checkStatus.processingTimes,
    validations: services.accountValidations.operations,
    accountChecks: services.accountChecks.accountChecks,
    hashAccount: services.accountChecks.hashAccount,
    cursors: createCursors(postgres.dataKey),
    reauthorize: authentication.reauthorizeFor('transactions:read'),
    openExports: createOpenWaits(services.sharedLimits.createConcurrencyLimiter('exports')),
    issuer: authentication.issuer,
    limitClock,
    documentation: services.documentation,
  });
}

/** An ID may be used again on the next day. */
const EXTERNAL_IDS_DAYS = 2;
const EXTERNAL_IDS_DELETE_BATCH = 1_000;

function buildSnapServer(context: AppContext, services: Services, listener: SharedListenerOptions): FastifyInstance {
  const { options, metrics } = context;
  const { banks, settings } = options;
  const { postgres, authentication, accountChecks, transactions, checkStatus } = services;
  openRetention(context, {
    database: postgres.database,
    records: 'snap_external_ids',
    days: EXTERNAL_IDS_DAYS,
    deleteBatch: (before) => deleteExternalIds(postgres.database, before.toISOString(), EXTERNAL_IDS_DELETE_BATCH),
  });
  const { authenticator, throttle, limiter, issue } = authentication;
  const { clients, notifications, database, seal } = postgres;
  return createSnapServer({
    listener,
    authenticator,
    throttle,
    limiter,
    issue,
    lifetimeSeconds: settings.tokenSeconds,
    clients,
    notifications,
    database,
    credentialsOf: createSnapCredentials(seal),
    metrics,
    now: postgres.processes.databaseNow,
    banks,
    accountChecks: accountChecks.accountChecks,
    lookUpDatabase: postgres.lookUpDatabase,
    refresh: transactions.statusInquiries.refresh,
    retryAfter: checkStatus.checkStatus.retryAfter,
    ownBank: findOwnBank(banks, settings.snapOwnBank),
  });
}

/** @throws StartError when the directory has no such bank */
function findOwnBank({ find }: AppContext['options']['banks'], code: string | null): Bank | null {
  if (code === null) return null;
  const bank = find(code);
  if (bank === null) throw new StartError(`${SETTINGS.snapOwnBank.name}: no bank has the code ${code} (docs/banks.md)`);
  return bank;
}

function buildOperatorServer(
  context: AppContext,
  services: Services,
  listener: SharedListenerOptions,
): Promise<FastifyInstance> {
  const { banks, environment, operatorRoutes, settings, limitClock = () => performance.now() } = context.options;
  const { postgres, authentication, accountChecks } = services;
  const limiterOf = (name: string) => services.sharedLimits.createLimiter(name, OPERATOR_WINDOW_MS);
  return createOperatorServer({
    listener,
    authorize: authentication.authorizeOperator,
    throttle: authentication.throttle,
    loginLimiter: services.sharedLimits.createLimiter('operator-logins'),
    database: postgres.database,
    feed: services.transactions.feed,
    latestRestore: postgres.latestRestore.current,
    inquiries: services.inquiries,
    banks,
    hashAccount: accountChecks.hashAccount,
    cursors: createCursors(postgres.dataKey),
    inquireNow: services.transactions.statusInquiries.inquireNow,
    enumerationGuard: accountChecks.enumerationGuard,
    health: {
      checks: readinessChecks(services, settings, () => context.endOrder() === 'stop'),
      readGauges: createGaugeReader(context, services),
      parent: context.options.parent ?? null,
      metricsToken: settings.metricsToken,
    },
    processId: postgres.processes.processId,
    limits: createOperatorLimits({
      accountSearches: limiterOf('operator-account-searches'),
      tokenAccountSearchesPerHour: settings.tokenAccountSearches,
      resends: limiterOf('operator-resends'),
    }),
    people: openPeople(context, postgres, listener.tls !== null),
    console: {
      environment,
      logUrl: settings.consoleLogUrl,
      traceUrl: settings.consoleTraceUrl,
    },
    callbackDays: settings.callbackDays,
    validateUrl: services.callbacks.validateUrl,
    issuer: authentication.issuer,
    limitClock,
    ...(operatorRoutes === undefined ? {} : { operatorRoutes }),
  });
}

/** While PostgreSQL is read-only, status checks work, and whatever has to be stored gets 503. */
function readinessChecks(
  { postgres: { notifications, processes }, sharedLimits }: Services,
  { readyWhenReadOnly, paused, staging }: Pick<Settings, 'readyWhenReadOnly' | 'paused' | 'staging'>,
  isStopping: () => boolean,
): ReadinessChecks {
  const required: Checks = {
    service: async () => {
      if (isStopping()) throw new Error('the service is stopping');
    },
    postgres: async () => {
      if (!(await notifications.waitUntilCurrent())) throw new Error('PostgreSQL does not answer');
    },
    clock: async () => {
      if (Math.abs(processes.clockSkewMs()) > CLOCK_SKEW_MAX_MS) throw new Error(skewMessage(processes.clockSkewMs()));
    },
  };
  const writes: Checks = {
    postgres_writes: async () => {
      if (!(await notifications.waitUntilCurrent())) throw new Error('not known: PostgreSQL does not answer');
      if (notifications.isReadOnly()) throw new Error('PostgreSQL is read-only');
    },
  };
  const informational: Checks = {
    ...(paused ? { paused: () => Promise.reject(new Error(PAUSED)) } : {}),
    ...(staging ? { staging: () => Promise.reject(new Error(STAGING)) } : {}),
    shared_limits: async () => {
      const inexactness = sharedLimits.inexactness();
      if (inexactness !== null) throw new Error(inexactness);
    },
    clock_skew: async () => {
      const skewMs = processes.clockSkewMs();
      if (Math.abs(skewMs) > CLOCK_SKEW_WARNING_MS) throw new Error(skewMessage(skewMs));
    },
  };
  return readyWhenReadOnly
    ? { required, desired: writes, informational }
    : { required: { ...required, ...writes }, desired: {}, informational };
}

const PAUSED = 'TIBA_PAUSED: no receiver is called, no bank is asked, and no old record is deleted';

const STAGING = 'TIBA_STAGING: this is a rehearsal. Banks may be simulated: rely on no verdict and no status';

function skewMessage(skewMs: number): string {
  const seconds = (Math.abs(skewMs) / 1000).toFixed(1);
  return `the clock is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} PostgreSQL's: synchronize it (NTP)`;
}

/** After `acceptNoMore`, connections may be idle for this long before they are closed. */
const RETIRE_TIMEOUT_MS = 5_000;

/**
 * Other processes listen on the same ports. Unlike `http.Server.close`, this leaves idle connections open: a client may
 * be sending its next request, whose answer will be the last one.
 */
const acceptNoMore = (server: Server): void => void Server.prototype.close.call(server);

/**
 * After the delay of SIGTERM, a request may be on its way over a connection without one, and the peer could not repeat
 * a POST that fails.
 */
const LINGER_MS = 500;

async function linger(servers: readonly FastifyInstance[]): Promise<void> {
  for (const { server } of servers) if (server.listening) acceptNoMore(server);
  await wait(LINGER_MS);
}

/** Resolves when no connection is left, or when those that are left have not been used for a while. */
async function untilUnused(servers: readonly FastifyInstance[]): Promise<void> {
  const deadlineMs = performance.now() + RETIRE_TIMEOUT_MS;
  while (performance.now() < deadlineMs && (await hasConnections(servers))) await wait(CLOSE_IDLE_INTERVAL_MS);
}

async function hasConnections(servers: readonly FastifyInstance[]): Promise<boolean> {
  const counts = servers.map(
    ({ server }) =>
      new Promise<number>((resolve) => {
        server.getConnections((_error, count) => resolve(count));
      }),
  );
  return (await Promise.all(counts)).some((count) => count > 0);
}

async function drain(server: FastifyInstance): Promise<void> {
  const closeAll = setTimeout(() => server.server.closeAllConnections(), DRAIN_TIMEOUT_MS);
  // A connection with a request in flight at the moment of closing stays open after its answer (keep-alive), and
  // `close` would wait for it.
  const closeIdle = setInterval(() => server.server.closeIdleConnections(), CLOSE_IDLE_INTERVAL_MS);
  await server.close();
  clearInterval(closeIdle);
  clearTimeout(closeAll);
}
