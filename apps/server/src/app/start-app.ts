import type { IssueAccessToken } from '../auth/access-tokens.ts';
import type { Clients } from '../auth/clients.ts';
import { SETTINGS } from '../config.ts';
import type { Feed } from '../feed/feed.ts';
import { listenAt } from '../http/listen.ts';
import { createOperatorServer } from '../http/operator/operator-server.ts';
import { createPublicServer } from '../http/public-server.ts';
import { createAccessLog } from '../observability/access-log.ts';
import { createMetrics } from '../observability/metrics.ts';
import type { Database } from '../postgres/database.ts';
import type { TransactionUpdater } from '../transactions/transaction-updater.ts';
import { openAccountChecks } from './account-checks.ts';
import { openAccountInquiries } from './account-inquiries.ts';
import { openAccountValidations } from './account-validations.ts';
import type { AppContext, AppOptions } from './app-context.ts';
import { openAuthentication } from './authentication.ts';
import { openBankAvailability } from './bank-availability.ts';
import { openCallbacks } from './callbacks.ts';
import { openCheckStatus } from './check-status.ts';
import { openStore } from './store.ts';
import { openTransactions } from './transactions.ts';

export interface App {
  readonly publicUrl: string;
  readonly operatorUrl: string;
  readonly database: Database;
  readonly clients: Clients;
  readonly feed: Feed;
  readonly transactionUpdater: TransactionUpdater;
  /** How many requests wait for a transaction to change, or stream its changes. */
  openWaits(): number;
  /** The built-in issuer's, for tokens that the sandbox hands out. */
  readonly issue: IssueAccessToken;
  /** Stops accepting, answers what is under way, lets go of everything. Safe to call twice. */
  close(): Promise<void>;
}

/** After SIGTERM, requests under way may take this long; then their connections are cut. */
const DRAIN_TIMEOUT_MS = 10_000;
const HANG_UP_INTERVAL_MS = 50;

/** Wires the whole service by hand, stage by stage, and starts it. Resolves when it can answer. */
export async function startApp(options: AppOptions): Promise<App> {
  const { log } = options.logging;
  const closers: (() => Promise<unknown>)[] = [];
  const close = once(async () => {
    for (const closer of closers.toReversed())
      await closer().catch((error: unknown) => log.error({ err: error }, 'closing failed'));
  });
  const stage: AppContext = { options, metrics: createMetrics(), onClose: (closer) => void closers.push(closer) };
  let publicUrl = options.settings.publicUrl ?? '';

  try {
    const store = await openStore(stage);
    const authentication = openAuthentication(stage, store, () => publicUrl);
    stage.onClose(() => Promise.all(options.rails.map((rail) => rail.close())));
    const statuses = openTransactions(stage, store);
    const { status, durations, endWaiting } = openCheckStatus(stage, store, authentication, statuses);
    const callbacks = openCallbacks(stage, store);
    const { authorize, issuer, issue } = authentication;
    const { database, clients, transactionChanges, notifications } = store;
    const { feed, transactionUpdater } = statuses;
    const inquiries = await openAccountInquiries(stage, store);
    const { accountChecks, hashAccount, enumerationGuard } = openAccountChecks(stage, store, inquiries);
    const validations = openAccountValidations(stage, store, authentication, { accountChecks, inquiries });
    openBankAvailability(stage, store, inquiries);

    const listener = {
      log,
      metrics: stage.metrics,
      accessLog: createAccessLog(options.logging.writeLine),
      trustedProxies: options.settings.trustedProxies,
    };
    const publicListener = await createPublicServer({
      listener,
      authorize,
      database,
      status,
      callbacks,
      banks: options.banks,
      inquiries,
      durations,
      validations: validations.operations,
      accountChecks,
      issuer,
    });
    const operatorListener = createOperatorServer({
      listener,
      authorize,
      database,
      feed,
      inquiries,
      banks: options.banks,
      hashAccount,
      enumerationGuard,
      demoCore: options.demoCore ?? null,
      readiness: {
        postgres: async () => {
          if (!(await notifications.untilCurrent())) throw new Error('PostgreSQL does not answer');
        },
      },
    });
    for (const each of [operatorListener, publicListener]) stage.onClose(() => drain(each));
    stage.onClose(async () => {
      endWaiting();
      validations.endFollowing();
    });

    const { settings } = options;
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
    return {
      publicUrl,
      operatorUrl,
      database,
      clients,
      feed,
      transactionUpdater,
      openWaits: transactionChanges.watcherCount,
      issue,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function drain(listener: Awaited<ReturnType<typeof createPublicServer>>): Promise<void> {
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
