import type { AccountStatus } from '../../domain/account.ts';
import { jakartaDayStartMs } from '../../domain/instant.ts';
import type { Log } from '../../observability/log.ts';
import type { Metrics } from '../../observability/metrics.ts';
import {
  type Admission,
  type CheckedAccount,
  type ClientBounds,
  type ClientGuard,
  createClientGuard,
} from './client-guard.ts';
import type { Restriction } from './signals.ts';

/**
 * Against the harvesting of names. A client is watched for signs that it goes through accounts instead of paying to them;
 * one that trips has its questions about new accounts slowed, then refused. What it has asked about today, it may go on asking.
 * Each process watches for itself.
 */
export interface EnumerationGuard {
  /** What becomes of a client's question about an account; it counts as asked unless it is refused. */
  admit(clientId: string, account: CheckedAccount): Admission;
  /** Resolves when a question that was admitted as `slowed` may go on. */
  slow(clientId: string): Promise<void>;
  /** A verdict about an account that was admitted. Only the first about each tells something. */
  heard(clientId: string, hash: string, status: AccountStatus): void;
  /** The clients that are slowed or refused now. */
  restrictedClients(): readonly RestrictedClient[];
  close(): void;
}

export interface RestrictedClient {
  readonly clientId: string;
  readonly accountsToday: number;
  readonly accountsPerDay: number;
  readonly restrictions: readonly Restriction[];
}

export interface EnumerationGuardOptions {
  /** Milliseconds on a clock that never jumps. */
  readonly clock?: () => number;
  /** Milliseconds since 1970. */
  readonly wallClock?: () => number;
  /** How long a question waits while its client is slowed. */
  readonly slowedMs?: number;
}

export interface EnumerationGuardDependencies extends EnumerationGuardOptions {
  readonly boundsOf: (clientId: string) => ClientBounds;
  /** Tells the hashes of the accounts that a client has asked about since then (ISO 8601 UTC). */
  readonly recall: (clientId: string, since: string, tell: (hashes: readonly string[]) => void) => Promise<void>;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'enumerationRestrictions'>;
}

/** With the inquiry's own deadline (rails/account-inquiries.ts) it stays below the 5 s within which a client is answered. */
const SLOWED_MS = 500;
const SWEEP_INTERVAL_MS = 5_000;

export function createEnumerationGuard(dependencies: EnumerationGuardDependencies): EnumerationGuard {
  const { boundsOf, recall, log, metrics } = dependencies;
  const { clock = () => performance.now(), wallClock = Date.now, slowedMs = SLOWED_MS } = dependencies;
  const clients = new Map<string, ClientGuard>();
  /** Those of which it is not known what they asked before this process began. */
  const unread = new Map<string, ClientGuard>();

  function watch(clientId: string): ClientGuard {
    const client = createClientGuard({
      bounds: () => boundsOf(clientId),
      wallMs: wallClock,
      slowedMs,
      onRestricted({ signal, level, figure }) {
        metrics.enumerationRestrictions.inc({ signal, level });
        log.warn(
          { clientId, signal, restriction: level, figure },
          'a client asks about accounts as if it were collecting them',
        );
      },
      onLifted: ({ signal, level }) =>
        log.info({ clientId, signal, restriction: level }, 'the client may ask about accounts as before'),
    });
    clients.set(clientId, client);
    recallToday(clientId, client);
    return client;
  }

  const watched = (clientId: string): ClientGuard => clients.get(clientId) ?? watch(clientId);

  /** A process that is started again does not give the day again. */
  function recallToday(clientId: string, client: ClientGuard): void {
    const day = client.today();
    const since = new Date(jakartaDayStartMs(day)).toISOString();
    recall(clientId, since, (hashes) => client.recall(day, hashes)).catch((error: unknown) => {
      unread.set(clientId, client);
      log.warn({ clientId, err: error }, 'what the client has asked today could not be read; it is tried again');
    });
  }

  function sweep(): void {
    const nowMs = clock();
    for (const client of clients.values()) client.restrictions(nowMs);
    for (const [clientId, client] of unread) {
      unread.delete(clientId);
      recallToday(clientId, client);
    }
  }

  const sweeping = setInterval(sweep, SWEEP_INTERVAL_MS).unref();
  return {
    admit: (clientId, account) => watched(clientId).admit(account, clock()),
    slow: (clientId) => watched(clientId).slow(),
    heard(clientId, hash, status) {
      const client = clients.get(clientId);
      if (client?.isFirstVerdict(hash) === true) client.heard(status === 'NOT_FOUND', clock());
    },
    restrictedClients() {
      const nowMs = clock();
      return [...clients].flatMap(([clientId, client]) => {
        const restrictions = client.restrictions(nowMs);
        const { accountsPerDay } = boundsOf(clientId);
        return restrictions.length === 0
          ? []
          : [{ clientId, accountsToday: client.accountsToday(), accountsPerDay, restrictions }];
      });
    },
    close: () => clearInterval(sweeping),
  };
}
