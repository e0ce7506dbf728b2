import type { Log } from '../observability/log.ts';
import type { SlidingWindow } from '../rate-limit/sliding-window.ts';

/**
 * Limits guesses of tokens and client secrets. Only failures are throttled: right credentials are accepted whatever
 * happened before, or one client could lock out the others behind its address.
 */
export interface FailureThrottle {
  /**
   * Counts a failed authentication. `clientId` is the client that the request claims to be, null when it names none.
   * Returns 0, or for how many milliseconds the failures of this client from this address are over the limit.
   */
  recordFailure(address: string, clientId: string | null): number;
}

export interface FailureThrottleDependencies {
  readonly window: SlidingWindow;
  readonly failuresPerMinute: number;
  readonly clientExists: (clientId: string) => boolean;
  readonly log: Pick<Log, 'warn'>;
}

export function createFailureThrottle(dependencies: FailureThrottleDependencies): FailureThrottle {
  const { window, failuresPerMinute, clientExists, log } = dependencies;
  /** At most once a minute: when failures go on, one is under the limit now and then, and the next is over it. */
  const shouldWarn = (address: string): boolean => window.take(`warned ${address}`, 1).admitted;

  return {
    recordFailure(address, clientId) {
      const { admitted, remaining, resetMs } = window.take(`${address} ${groupOf(clientId)}`, failuresPerMinute);
      if (!admitted) return Math.max(resetMs, 1);
      if (remaining === 0 && shouldWarn(address)) {
        // Any text can be claimed as a client ID, also a secret in the wrong field.
        const client = clientId !== null && clientExists(clientId) ? { clientId } : {};
        log.warn({ address, ...client, failuresPerMinute }, 'too many failed authentications; throttling further ones');
      }
      return 0;
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
