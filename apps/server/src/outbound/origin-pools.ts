import { type buildConnector, Pool } from 'undici';

/** One post's place in the queue for a connection to its origin. */
export interface Turn {
  /** Calls `send` once a connection may be used, which may be at once. */
  begin(send: (pool: Pool) => void): void;
  /** Gives up waiting; without effect once `send` was called. */
  giveUp(): void;
  /** Lets the next one send; for the one who was sending, when undici has done with the request. */
  end(): void;
}

export interface OriginPools {
  turnAt(origin: string): Turn;
  /** Destroys every connection. Who waits for one is called, and finds it destroyed. */
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
  readonly waiting: Set<(pool: Pool) => void>;
  sending: number;
  /** Whether somebody further down the stack is calling those who wait. */
  calling: boolean;
}

/** A receiver that has moved is found at its new address after so many at the latest. */
const REQUESTS_PER_CONNECTION_MAX = 1_000;

/**
 * Keeps connections alive, apart for each origin, so that nobody waits behind another's slow receiver. Past
 * `originsMax` the origin that was used least recently is let go; one in use never is, so that what bounds the number
 * beyond it is how many posts the caller has in flight. (undici's Agent would refuse to talk to new origins instead.)
 *
 * The queue is our own: undici keeps a request whose deadline has passed until a connection is free for it, and with
 * a receiver that cannot be connected to they would pile up.
 */
export function createOriginPools(connect: buildConnector.connector, limits: OriginPoolLimits): OriginPools {
  /** In order of use. */
  const origins = new Map<string, Origin>();
  let closed = false;

  function originAt(name: string): Origin {
    if (closed) throw new Error('outbound HTTP is closed');
    const origin = origins.get(name) ?? {
      pool: createPool(name, connect, limits),
      waiting: new Set(),
      sending: 0,
      calling: false,
    };
    origins.delete(name);
    origins.set(name, origin);
    return origin;
  }

  function callNext(origin: Origin): void {
    // A loop, not a recursion: a destroyed pool fails a request within the call, and thousands may be waiting.
    if (origin.calling) return;
    origin.calling = true;
    for (const send of origin.waiting) {
      if (origin.sending >= limits.connectionsPerOriginMax) break;
      origin.waiting.delete(send);
      origin.sending += 1;
      send(origin.pool);
    }
    origin.calling = false;
  }

  function trim(): void {
    for (const [name, origin] of origins) {
      if (origins.size <= limits.originsMax) return;
      if (origin.sending > 0) continue;
      origins.delete(name);
      void origin.pool.destroy();
    }
  }

  return {
    turnAt(name) {
      const origin = originAt(name);
      let waiting: ((pool: Pool) => void) | undefined;
      return {
        begin(send) {
          waiting = send;
          origin.waiting.add(send);
          callNext(origin);
          trim();
        },
        giveUp() {
          if (waiting !== undefined) origin.waiting.delete(waiting);
        },
        end() {
          origin.sending -= 1;
          callNext(origin);
          trim();
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
    // Each post has a deadline for all of it; timeouts per chunk never fire on one who drips.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
