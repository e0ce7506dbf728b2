import { type buildConnector, Pool } from 'undici';
import { type ConnectionShares, createConnectionShares, type PostOwner } from './connection-shares.ts';

/** One post's turn to use a connection to its origin. */
export interface ConnectionSlot {
  /** Calls `send` when a connection may be used, possibly at once. */
  acquire(send: (pool: Pool) => void): void;
  /** Stops waiting. Has no effect after `send` was called. */
  cancel(): void;
  /**
   * Frees the connection for the next post. Call it when undici has finished with the request. `timedOut`: the receiver
   * had not answered completely when the timeout passed.
   */
  release(timedOut: boolean): void;
}

export interface OriginPools {
  slotFor(origin: string, owner: PostOwner): ConnectionSlot;
  /** Destroys every connection. Posts that wait for one are called and find the pool destroyed. */
  close(): Promise<void>;
}

export interface OriginPoolLimits {
  readonly originsMax: number;
  readonly connectionsPerOriginMax: number;
  readonly idleTimeoutMs: number;
  readonly replyHeaderBytesMax: number;
}

interface Origin {
  readonly pool: Pool;
  readonly shares: ConnectionShares;
}

/** A receiver that has moved is reached at its new address after this number of requests at the latest. */
const REQUESTS_PER_CONNECTION_MAX = 1_000;

/**
 * Keeps connections alive, in one pool for each origin, so that a slow receiver delays only its own posts. Above
 * `originsMax` the least recently used pool is destroyed. A pool in use is never destroyed, so the caller's number of
 * posts in flight limits how far the count exceeds the maximum. (undici's Agent would reject new origins instead.)
 *
 * The queue is not undici's: undici serves first come, first served, and keeps a request whose timeout has passed until
 * a connection is free for it. With a receiver that cannot be connected to such requests would pile up.
 */
export function createOriginPools(connect: buildConnector.connector, limits: OriginPoolLimits): OriginPools {
  /** Least recently used first. */
  const origins = new Map<string, Origin>();
  let closed = false;

  function getOrigin(name: string): Origin {
    if (closed) throw new Error('outbound HTTP is closed');
    const origin = origins.get(name) ?? {
      pool: createPool(name, connect, limits),
      shares: createConnectionShares(limits.connectionsPerOriginMax),
    };
    origins.delete(name);
    origins.set(name, origin);
    return origin;
  }

  function evictUnused(): void {
    for (const [name, origin] of origins) {
      if (origins.size <= limits.originsMax) return;
      if (origin.shares.inUse() > 0) continue;
      origins.delete(name);
      void origin.pool.destroy();
    }
  }

  return {
    slotFor(name, owner) {
      const { pool, shares } = getOrigin(name);
      const turn = shares.turnFor(owner);
      return {
        acquire(send) {
          turn.acquire(() => send(pool));
          evictUnused();
        },
        cancel: turn.cancel,
        release(timedOut) {
          turn.release(timedOut);
          evictUnused();
        },
      };
    },
    async close() {
      closed = true;
      await Promise.all([...origins.values()].map(({ pool }) => pool.destroy()));
      origins.clear();
    },
  };
}

function createPool(origin: string, connect: buildConnector.connector, limits: OriginPoolLimits): Pool {
  return new Pool(origin, {
    connect,
    connections: limits.connectionsPerOriginMax,
    allowH2: false,
    pipelining: 1,
    keepAliveTimeout: limits.idleTimeoutMs,
    keepAliveMaxTimeout: limits.idleTimeoutMs,
    maxHeaderSize: limits.replyHeaderBytesMax,
    maxRequestsPerClient: REQUESTS_PER_CONNECTION_MAX,
    // Each post has one timeout for everything; a timeout per chunk never fires when the receiver drips bytes.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
