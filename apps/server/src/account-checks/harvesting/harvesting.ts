import type { AccountStatus } from '../../domain/account.ts';
import { jakartaDayStartMs } from '../../domain/instant.ts';
import type { Log } from '../../observability/log.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Trip } from './signs.ts';
import {
  type Admission,
  type AskedAccount,
  type ClientBounds,
  createWatchedClient,
  type WatchedClient,
} from './watched-client.ts';

/**
 * Against the harvesting of names. A client is watched for signs that it goes through accounts instead of paying to them;
 * one that trips has its questions about new accounts slowed, then refused. What it has asked about today, it may go on asking.
 * Each process watches for itself.
 */
export interface Harvesting {
  /** What becomes of a client's question about an account; it counts as asked unless it is refused. */
  admit(clientId: string, account: AskedAccount): Admission;
  /** Resolves when a question that was admitted as `slowed` may go on. */
  slow(clientId: string): Promise<void>;
  /** A verdict about an account that was admitted. Only the first about each tells something. */
  heard(clientId: string, hash: string, status: AccountStatus): void;
  /** The clients that are slowed or refused now. */
  view(): readonly HeldClient[];
  close(): void;
}

export interface HeldClient {
  readonly clientId: string;
  readonly accountsToday: number;
  readonly accountsPerDay: number;
  readonly trips: readonly Trip[];
}

export interface HarvestingOptions {
  /** Milliseconds on a clock that never jumps. */
  readonly clock?: () => number;
  /** Milliseconds since 1970. */
  readonly wallClock?: () => number;
  /** How long a question waits while its client is slowed. */
  readonly slowedMs?: number;
}

export interface HarvestingParts extends HarvestingOptions {
  readonly boundsOf: (clientId: string) => ClientBounds;
  /** Tells the hashes of the accounts that a client has asked about since then (ISO 8601 UTC). */
  readonly recall: (clientId: string, since: string, tell: (hashes: readonly string[]) => void) => Promise<void>;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'harvestingTrips'>;
}

/** With the inquiry's own deadline (rails/account-inquiries.ts) it stays below the 5 s within which a client is answered. */
const SLOWED_MS = 500;
const SWEEP_INTERVAL_MS = 5_000;

export function createHarvesting(parts: HarvestingParts): Harvesting {
  const { boundsOf, recall, log, metrics } = parts;
  const { clock = () => performance.now(), wallClock = Date.now, slowedMs = SLOWED_MS } = parts;
  const clients = new Map<string, WatchedClient>();
  /** Those of which it is not known what they asked before this process began. */
  const unread = new Map<string, WatchedClient>();

  function watch(clientId: string): WatchedClient {
    const client = createWatchedClient({
      bounds: () => boundsOf(clientId),
      wallMs: wallClock,
      slowedMs,
      onTrip({ sign, hold, figure }) {
        metrics.harvestingTrips.inc({ sign, hold });
        log.warn({ clientId, sign, hold, figure }, 'a client asks about accounts as if it were collecting them');
      },
      onFree: ({ sign, hold }) => log.info({ clientId, sign, hold }, 'the client may ask about accounts as before'),
    });
    clients.set(clientId, client);
    recallToday(clientId, client);
    return client;
  }

  const watched = (clientId: string): WatchedClient => clients.get(clientId) ?? watch(clientId);

  /** A process that is started again does not give the day again. */
  function recallToday(clientId: string, client: WatchedClient): void {
    const day = client.today();
    const since = new Date(jakartaDayStartMs(day)).toISOString();
    recall(clientId, since, (hashes) => client.recall(day, hashes)).catch((error: unknown) => {
      unread.set(clientId, client);
      log.warn({ clientId, err: error }, 'what the client has asked today could not be read; it is tried again');
    });
  }

  function sweep(): void {
    const nowMs = clock();
    for (const client of clients.values()) client.trips(nowMs);
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
    view() {
      const nowMs = clock();
      return [...clients].flatMap(([clientId, client]) => {
        const trips = client.trips(nowMs);
        const { accountsPerDay } = boundsOf(clientId);
        return trips.length === 0 ? [] : [{ clientId, accountsToday: client.accountsToday(), accountsPerDay, trips }];
      });
    },
    close: () => clearInterval(sweeping),
  };
}
