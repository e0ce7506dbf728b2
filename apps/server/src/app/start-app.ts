import type { IssueAccessToken } from '../auth/access-tokens.ts';
import type { Clients } from '../auth/clients.ts';
import type { Feed } from '../feed/feed.ts';
import { createInTurn } from '../lib/in-turn.ts';
import { createFailureLog } from '../observability/failure-log.ts';
import { createMetrics } from '../observability/metrics.ts';
import type { Database } from '../postgres/database.ts';
import { asStartError } from '../postgres/prepare-database.ts';
import type { Rail } from '../rails/rail.ts';
import type { TransactionUpdater } from '../transactions/transaction-updater.ts';
import { startCountsHandOver } from '../workers/counts-hand-over.ts';
import type { EndOrder } from '../workers/messages.ts';
import type { AgreedOptions } from './account-inquiries.ts';
import type { AppContext, AppOptions } from './app-context.ts';
import { openListeners } from './listeners.ts';
import { openServices } from './services.ts';
import { openTracing } from './tracing.ts';

/** The running service. */
export interface App {
  readonly publicUrl: string;
  readonly operatorUrl: string;
  /** Null where there is no SNAP listener. */
  readonly snapUrl: string | null;
  readonly database: Database;
  readonly clients: Clients;
  readonly feed: Feed;
  readonly transactionUpdater: TransactionUpdater;
  /** The number of long-polls and streams that wait for a transaction to change. */
  longPollCount(): number;
  /**
   * Uses these connections to banks from now on. Those in use that are among them stay as they are; the others close
   * once their inquiries in flight have ended. @throws DatabaseUnavailable: nothing changed
   */
  replaceRails(rails: readonly Rail[], agreed: AgreedOptions): Promise<void>;
  /** Issues an access token of the built-in issuer: the sandbox hands some out. */
  readonly issue: IssueAccessToken;
  /**
   * Stops accepting requests, answers those in flight, closes every part. Safe to call twice. With `retire`, other
   * processes on the same ports go on: this one is not seen as not ready, and its clients lose no connection in use.
   */
  close(order?: EndOrder): Promise<void>;
}

/** Builds the whole service from plain functions and starts it. Resolves when it can answer requests. */
export async function startApp(options: AppOptions): Promise<App> {
  const { log, droppedLines } = options.logging;
  const parts: { readonly part: string; readonly closer: () => Promise<unknown> }[] = [];
  let endOrder: EndOrder | null = null;
  const closeOnce = once(async () => {
    for (const { part, closer } of parts.toReversed()) {
      await closer().catch((error: unknown) =>
        log.error({ err: error, part }, 'closing a part of the service failed; closing the others'),
      );
    }
  });
  const close = (order: EndOrder = 'stop'): Promise<void> => {
    endOrder ??= order;
    return closeOnce();
  };
  const untraced: Omit<AppContext, 'tracing'> = {
    options,
    metrics: createMetrics(droppedLines),
    retentionTurn: createInTurn(),
    endOrder: () => endOrder,
    onClose: (part, closer) => void parts.push({ part, closer }),
  };
  // Registered first so that it closes last: nothing is counted after it.
  untraced.onClose('last metrics', async () => options.parent?.leaveMetrics(await untraced.metrics.snapshot()));
  handOverCounts(untraced);
  let publicUrl = options.settings.publicUrl ?? '';

  try {
    const context: AppContext = { ...untraced, tracing: await openTracing(untraced) };
    const services = await openServices(context, () => publicUrl);
    const listeners = await openListeners(context, services);
    publicUrl ||= listeners.publicUrl;
    const { operatorUrl, snapUrl } = listeners;
    context.metrics.paused.set(options.settings.paused ? 1 : 0);
    if (options.settings.paused) {
      log.warn('paused: no receiver is called and no bank is asked; restart without TIBA_PAUSED to resume');
    }
    context.metrics.staging.set(options.settings.staging ? 1 : 0);
    if (options.settings.staging) {
      log.warn(
        'staging: banks may be simulated, and every answer says so; restart without TIBA_STAGING for production',
      );
    }
    log.info({ publicUrl, operatorUrl, ...(snapUrl === null ? {} : { snapUrl }) }, 'ready');
    const { postgres, transactions, authentication } = services;
    return {
      publicUrl,
      operatorUrl,
      snapUrl,
      database: postgres.database,
      clients: postgres.clients,
      feed: transactions.feed,
      transactionUpdater: transactions.transactionUpdater,
      replaceRails: services.replaceRails,
      longPollCount: postgres.transactionChanges.watcherCount,
      issue: authentication.issue,
      close,
    };
  } catch (error) {
    await close();
    throw asStartError(error);
  }
}

/** A worker that is killed cannot leave its last metrics. */
function handOverCounts({ options, metrics, onClose }: Omit<AppContext, 'tracing'>): void {
  const { parent, logging } = options;
  if (parent === undefined) return;
  const failures = createFailureLog(logging.log, 'giving the counts to the parent process failed; will retry');
  onClose('hand-over of counts', startCountsHandOver(parent, metrics.counts, failures).stop);
}

function once(action: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= action());
}
