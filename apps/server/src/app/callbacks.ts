import { createDispatcher } from '../callbacks/dispatcher.ts';
import { startRangeReplays } from '../callbacks/range-replays.ts';
import { createCallbackSender, type SendCallback } from '../callbacks/send.ts';
import type { CallbackDependencies } from '../http/callbacks/operation.ts';
import { unavailable } from '../http/errors.ts';
import { resolveDestination } from '../outbound/destination.ts';
import { createGuardedHttp } from '../outbound/guarded-http.ts';
import { createDnsResolver, resolveBySystem } from '../outbound/name-resolution.ts';
import { deleteRangeReplays } from '../postgres/callback-replays.ts';
import type { AppContext } from './app-context.ts';
import type { PostgresServices } from './postgres.ts';
import { openRetention } from './retention.ts';
import type { SharedLimits } from './shared-limits.ts';

export interface Callbacks extends Omit<CallbackDependencies, 'authorize' | 'database'> {
  /** Claims nothing more. What is in flight ends while other parts close; the dispatcher's own closer waits for it. */
  readonly endDeliveries: () => void;
}

/** The record of the operator's action stays. */
const REPLAY_DAYS = 90;
const REPLAYS_BATCH = 100;

/** Delivers events to the callback endpoints of clients. */
export function openCallbacks(
  context: AppContext,
  { deliveryDatabase: database, dueNotices, seal, now }: PostgresServices,
  sharedLimits: SharedLimits,
): Callbacks {
  const { options, metrics, tracing, onClose } = context;
  const { settings, environment } = options;
  const { log } = options.logging;
  const policy = {
    ports: settings.callbackPorts,
    allowed: settings.callbackNetworks,
    loopbackHttp: environment === 'sandbox',
  };
  // The operator's own receivers, and those of the sandbox, may have their names in the machine's hosts file.
  const isInternetOnly = policy.allowed.length === 0 && !policy.loopbackHttp;
  const resolveName = options.resolveName ?? (isInternetOnly ? createDnsResolver() : resolveBySystem);
  const http = createGuardedHttp({ policy, resolveName });
  onClose('outbound http', () => http.close());
  // Receivers refuse timestamps that are far from their own clock's.
  const sendNow = createCallbackSender({ http, seal, now });
  const send = settings.paused ? rejectTest : sendNow;
  const dispatcher = settings.paused ? null : createDispatcher({ database, dueNotices, send, log, metrics, tracing });
  onClose('callback dispatcher', async () => dispatcher?.close());
  const { callbackDays } = settings;
  if (!settings.paused) onClose('replays of callbacks', startRangeReplays({ database, callbackDays, log }).close);
  openRetention(context, {
    database,
    records: 'callback_replays',
    days: REPLAY_DAYS,
    deleteBatch: (before) => deleteRangeReplays(database, before, REPLAYS_BATCH),
  });
  return {
    // The closer reports what fails.
    endDeliveries: () => void dispatcher?.close().catch(() => {}),
    seal,
    send,
    callbackDays,
    validateUrl: (url) => resolveDestination(url, policy, { resolveName }),
    testLimiter: sharedLimits.createLimiter('callback-tests'),
  };
}

const PAUSED_RETRY_AFTER_MS = 60_000;

/** A client may test its endpoint while the service is paused. */
const rejectTest: SendCallback = () =>
  Promise.reject(
    unavailable(
      {
        en: 'the operator has paused this service: no callback is sent. Repeat the request later',
        id: 'layanan ini sedang dijeda oleh operator: callback tidak dikirim. Ulangi permintaan nanti',
      },
      PAUSED_RETRY_AFTER_MS,
    ),
  );
