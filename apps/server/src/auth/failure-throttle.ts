import { countedAddress } from '../lib/counted-address.ts';
import type { Log } from '../observability/log.ts';
import type { Decision, Limiter } from '../rate-limit/limiter.ts';

/**
 * Limits guesses of tokens and client secrets. Only failures are throttled: right credentials are accepted whatever
 * happened before, or one client could lock out the others behind its address.
 */
export interface FailureThrottle {
  /**
   * Counts a failed authentication. `clientId` is the client that the request claims to be, null when it names none.
   * Returns 0, or for how many milliseconds the failures of this client from this address are over the limit. A promise
   * when several processes count together.
   */
  recordFailure(address: string, clientId: string | null): number | Promise<number>;
}

export interface FailureThrottleDependencies {
  readonly limiter: Limiter;
  /** Limits the warnings in the log. */
  readonly warnings: Limiter;
  readonly failuresPerMinute: number;
  readonly clientExists: (clientId: string) => boolean;
  readonly log: Pick<Log, 'warn'>;
}

export function createFailureThrottle(dependencies: FailureThrottleDependencies): FailureThrottle {
  const { limiter, warnings, failuresPerMinute, clientExists, log } = dependencies;

  /** At most once a minute: when failures go on, one is under the limit now and then, and the next is over it. */
  async function warn(address: string, clientId: string | null): Promise<void> {
    if (!(await warnings.take(countedAddress(address), 1)).admitted) return;
    // Any text can be claimed as a client ID, also a secret in the wrong field.
    const client = clientId !== null && clientExists(clientId) ? { clientId } : {};
    log.warn({ address, ...client, failuresPerMinute }, 'too many failed authentications; throttling further ones');
  }

  function waitOf({ admitted, remaining, resetMs }: Decision, address: string, clientId: string | null): number {
    if (!admitted) return Math.max(resetMs, 1);
    if (remaining === 0) void warn(address, clientId);
    return 0;
  }

  return {
    recordFailure(address, clientId) {
      const decision = limiter.take(`${countedAddress(address)} ${groupOf(clientId)}`, failuresPerMinute);
      return decision instanceof Promise
        ? decision.then((decided) => waitOf(decided, address, clientId))
        : waitOf(decision, address, clientId);
    },
  };
}

/**
 * Client IDs are counted in groups: an attacker who makes up IDs fills no memory, and IDs that exist and IDs that do
 * not are treated alike, so that nothing reveals which exist.
 */
const CLIENT_GROUPS = 256;

function groupOf(clientId: string | null): string {
  if (clientId === null) return 'none';
  let hash = 0;
  for (let index = 0; index < clientId.length; index += 1)
    hash = (Math.imul(hash, 31) + clientId.charCodeAt(index)) | 0;
  return String((hash >>> 0) % CLIENT_GROUPS);
}
