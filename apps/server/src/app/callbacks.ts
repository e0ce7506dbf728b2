import { createDispatcher } from '../callbacks/dispatcher.ts';
import { createCallbackSender } from '../callbacks/send.ts';
import type { CallbackDependencies } from '../http/callbacks/operation.ts';
import { resolveDestination } from '../outbound/destination.ts';
import { createGuardedHttp } from '../outbound/guarded-http.ts';
import { createDnsResolver, resolveBySystem } from '../outbound/name-resolution.ts';
import type { AppContext } from './app-context.ts';
import type { PostgresServices } from './postgres.ts';
import type { SharedLimits } from './shared-limits.ts';

/** Delivers events to the callback endpoints of clients. */
export function openCallbacks(
  { options, metrics, onClose }: AppContext,
  { deliveryDatabase: database, seal, now }: PostgresServices,
  sharedLimits: SharedLimits,
): Omit<CallbackDependencies, 'authorize' | 'database'> {
  const { settings, connection, environment } = options;
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
  const send = createCallbackSender({ http, seal, now });
  const dispatcher = createDispatcher({ connection, database, send, log, metrics });
  onClose('callback dispatcher', () => dispatcher.close());
  return {
    seal,
    send,
    validateUrl: (url) => resolveDestination(url, policy, { resolveName }),
    testLimiter: sharedLimits.createLimiter('callback-tests'),
  };
}
