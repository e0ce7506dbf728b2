import type { OutboundPolicy } from '../../apps/server/src/outbound/policy.ts';

/** The policy of a service on the internet: https to public addresses. */
export const PUBLIC_ONLY: OutboundPolicy = { ports: [443, 8443], allowed: [], loopbackHttp: false };

/** The sandbox's: http to this machine, too. */
export const SANDBOX: OutboundPolicy = { ...PUBLIC_ONLY, loopbackHttp: true };
