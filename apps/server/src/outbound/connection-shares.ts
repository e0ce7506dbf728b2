/** The callback endpoint that a post is for, and the client that registered it. */
export interface PostOwner {
  readonly clientId: string;
  readonly endpointId: string;
}

/** One post's turn to use a connection. */
export interface Turn {
  /** Calls `start` when a connection may be used, possibly at once. */
  acquire(start: () => void): void;
  /** Stops waiting. Has no effect after `start` was called. */
  cancel(): void;
  /** Frees the connection. `timedOut`: the receiver had not answered when the timeout passed. */
  release(timedOut: boolean): void;
}

/** Decides which of the posts to one origin may use its connections. */
export interface ConnectionShares {
  inUse(): number;
  turnFor(owner: PostOwner): Turn;
}

interface Endpoint {
  readonly client: Client;
  readonly id: string;
  readonly waiting: Set<() => void>;
  inUse: number;
  /** Its last post that ended had timed out. */
  silent: boolean;
}

interface Client {
  readonly id: string;
  readonly endpoints: Map<string, Endpoint>;
  /** The endpoints with waiting posts, next one first. */
  readonly waiting: Set<Endpoint>;
  inUse: number;
  /** Of these, the ones for posts to endpoints that were silent when the post started. */
  silentInUse: number;
}

/**
 * Shares the connections of one origin among clients. A receiver that hangs holds a connection until the timeout, and
 * no connection can be taken back, so the shares are bounded before connections run out:
 *
 * - A client may hold as many connections as are left free for the others: half of them if it is alone, a third each
 *   if there are two. A client that has none therefore finds one, until as many clients hang as there are connections.
 * - Posts to silent endpoints, whose last post timed out, share half of the connections by the same rule. The other
 *   half is kept for endpoints that answer, of the same client and of others. The next reply ends the silence.
 *
 * Clients that wait take turns, and so do the endpoints of a client; the posts of an endpoint start in order.
 */
export function createConnectionShares(connectionsMax: number): ConnectionShares {
  const silentMax = Math.ceil(connectionsMax / 2);
  const clients = new Map<string, Client>();
  /** The clients with waiting posts, next one first. */
  const waiting = new Set<Client>();
  let inUse = 0;
  let silentInUse = 0;
  /** An outer call is already starting posts. */
  let starting = false;

  /** The post that may start next, if any. */
  function nextPost(): (() => void) | undefined {
    const free = connectionsMax - inUse;
    if (free === 0) return undefined;
    for (const client of waiting) {
      if (client.inUse >= free) continue;
      const silentMayStart = client.silentInUse < silentMax - silentInUse;
      for (const endpoint of client.waiting) {
        if (silentMayStart || !endpoint.silent) return endpoint.waiting.values().next().value;
      }
    }
    return undefined;
  }

  function startWaiting(): void {
    // A loop, not a recursion: a destroyed pool fails a request within the call, and thousands may be waiting.
    if (starting) return;
    starting = true;
    for (let start = nextPost(); start !== undefined; start = nextPost()) start();
    starting = false;
  }

  function stopWaiting(endpoint: Endpoint, start: () => void): void {
    const { client } = endpoint;
    endpoint.waiting.delete(start);
    // Those with more posts wait at the end: the next turn is another's.
    client.waiting.delete(endpoint);
    if (endpoint.waiting.size > 0) client.waiting.add(endpoint);
    waiting.delete(client);
    if (client.waiting.size > 0) waiting.add(client);
  }

  function countConnection(endpoint: Endpoint, change: 1 | -1, silent: boolean): void {
    inUse += change;
    endpoint.inUse += change;
    endpoint.client.inUse += change;
    if (!silent) return;
    silentInUse += change;
    endpoint.client.silentInUse += change;
  }

  function getEndpoint({ clientId, endpointId }: PostOwner): Endpoint {
    const client = clients.get(clientId) ?? newClient(clientId);
    clients.set(clientId, client);
    const endpoint = client.endpoints.get(endpointId) ?? newEndpoint(client, endpointId);
    client.endpoints.set(endpointId, endpoint);
    return endpoint;
  }

  /** Keeps only endpoints that are in use, waiting or silent. */
  function forgetIfIdle(endpoint: Endpoint): void {
    if (endpoint.inUse > 0 || endpoint.waiting.size > 0 || endpoint.silent) return;
    const { client } = endpoint;
    client.endpoints.delete(endpoint.id);
    if (client.endpoints.size === 0) clients.delete(client.id);
  }

  function turnAt(endpoint: Endpoint, use: () => void): Pick<Turn, 'cancel' | 'release'> {
    let silent = false;
    const start = (): void => {
      stopWaiting(endpoint, start);
      silent = endpoint.silent;
      countConnection(endpoint, 1, silent);
      use();
    };
    endpoint.waiting.add(start);
    endpoint.client.waiting.add(endpoint);
    waiting.add(endpoint.client);
    return {
      cancel() {
        if (!endpoint.waiting.has(start)) return;
        stopWaiting(endpoint, start);
        forgetIfIdle(endpoint);
      },
      release(timedOut) {
        countConnection(endpoint, -1, silent);
        endpoint.silent = timedOut;
        startWaiting();
        forgetIfIdle(endpoint);
      },
    };
  }

  return {
    inUse: () => inUse,
    turnFor(owner) {
      let turn: Pick<Turn, 'cancel' | 'release'> | undefined;
      return {
        acquire(start) {
          turn = turnAt(getEndpoint(owner), start);
          startWaiting();
        },
        cancel: () => turn?.cancel(),
        release: (timedOut) => turn?.release(timedOut),
      };
    },
  };
}

const newClient = (id: string): Client => ({
  id,
  endpoints: new Map(),
  waiting: new Set(),
  inUse: 0,
  silentInUse: 0,
});

const newEndpoint = (client: Client, id: string): Endpoint => ({
  client,
  id,
  waiting: new Set(),
  inUse: 0,
  silent: false,
});
