import { createDeliveries } from '../callbacks/deliveries.ts';
import { createCallbackSender } from '../callbacks/send.ts';
import type { CallbackParts } from '../http/callbacks/parts.ts';
import type { CheckStatusParts } from '../http/check-status/check-status.ts';
import { createStatusFollowing } from '../http/check-status/following.ts';
import { createRetryAfter } from '../http/check-status/open-transaction.ts';
import type { Recheck } from '../http/gate.ts';
import { createDurations, type Durations } from '../ledger/durations.ts';
import { createSlidingWindow } from '../limits/sliding-window.ts';
import { resolveDestination } from '../outbound/destination.ts';
import { createGuardedHttp } from '../outbound/guarded-http.ts';
import { createNameServerLookUp, lookUpBySystem } from '../outbound/look-up.ts';
import { createTransactionLookUp } from '../postgres/transaction-lookup.ts';
import type { Authentication } from './authentication.ts';
import type { Stage } from './parts.ts';
import type { Statuses } from './statuses.ts';
import type { Store } from './store.ts';

/** What carries a change to the client: answers, waiting, streams, callbacks. */
export interface Delivery {
  readonly status: Omit<CheckStatusParts, 'gate'>;
  readonly callbacks: Omit<CallbackParts, 'gate' | 'database'>;
  /** How long banks take, as heard of with each change. */
  readonly durations: Durations;
  /** Nobody waits any longer: each gets what is known. */
  readonly endWaiting: () => void;
}

export function openDelivery(
  stage: Stage,
  store: Store,
  { recheckFor }: Authentication,
  { asking }: Statuses,
): Delivery {
  return { ...openStatus(stage, store, recheckFor('status:read'), asking), callbacks: openCallbacks(stage, store) };
}

function openStatus(
  { options, metrics }: Stage,
  { lookUpDatabase, changes }: Store,
  recheck: Recheck,
  { refresh }: Statuses['asking'],
): Omit<Delivery, 'callbacks'> {
  const lookUp = createTransactionLookUp(lookUpDatabase, {
    onBatch: (size) => metrics.lookUpBatchSize.observe(size),
    ...options.lookUp,
  });
  const durations = createDurations();
  changes.hearAll(({ bankName, durationMs }) => {
    if (durationMs !== null) durations.heard(bankName, durationMs);
  });
  const retryAfter = createRetryAfter(durations);
  const refreshMs = options.settings.staleSeconds * 1000;
  const following = createStatusFollowing({ lookUp, changes, retryAfter, refresh, refreshMs, recheck });
  return { status: { lookUp, retryAfter, follow: following.follow }, durations, endWaiting: following.end };
}

function openCallbacks(
  { options, metrics, onClose }: Stage,
  { deliveryDatabase: database, seal }: Store,
): Delivery['callbacks'] {
  const { settings, connection, environment, limitClock: clock = () => performance.now() } = options;
  const { log } = options.logging;
  const policy = {
    ports: settings.callbackPorts,
    allowed: settings.callbackNetworks,
    loopbackHttp: environment === 'sandbox',
  };
  // Receivers of the operator's own, and those of the sandbox, may stand in the machine's list of hosts.
  const onInternet = policy.allowed.length === 0 && !policy.loopbackHttp;
  const lookUp = onInternet ? createNameServerLookUp() : lookUpBySystem;
  const http = createGuardedHttp({ policy, lookUp });
  onClose(() => http.close());
  const send = createCallbackSender({ http, seal });
  const deliveries = createDeliveries({ connection, database, send, log, metrics });
  onClose(() => deliveries.close());
  return {
    seal,
    send,
    judge: (url) => resolveDestination(url, policy, { lookUp }),
    testLimiter: createSlidingWindow(clock),
  };
}
