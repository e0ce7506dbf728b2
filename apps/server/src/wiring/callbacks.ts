import { createDeliveries } from '../callbacks/deliveries.ts';
import { createCallbackSender } from '../callbacks/send.ts';
import type { CallbackParts } from '../http/callbacks/parts.ts';
import { createSlidingWindow } from '../limits/sliding-window.ts';
import { resolveDestination } from '../outbound/destination.ts';
import { createGuardedHttp } from '../outbound/guarded-http.ts';
import { createNameServerLookUp, lookUpBySystem } from '../outbound/look-up.ts';
import type { Stage } from './parts.ts';
import type { Store } from './store.ts';

/** What carries events to the endpoints of clients. */
export function openCallbacks(
  { options, metrics, onClose }: Stage,
  { deliveryDatabase: database, seal }: Store,
): Omit<CallbackParts, 'gate' | 'database'> {
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
