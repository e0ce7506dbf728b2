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

/** The state of one origin. */
interface Shares {
  readonly connectionsMax: number;
  /** How many of them posts to silent endpoints may hold. */
  readonly silentMax: number;
  readonly clients: Map<string, Client>;
  /** The clients with waiting posts, next one first. */
  readonly waiting: Set<Client>;
  inUse: number;
  silentInUse: number;
  /** An outer call is already starting posts. */
  starting: boolean;
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
  const shares: Shares = {
    connectionsMax,
    silentMax: Math.ceil(connectionsMax / 2),
    clients: new Map(),
    waiting: new Set(),
    inUse: 0,
    silentInUse: 0,
    starting: false,
  };
  return {
    inUse: () => shares.inUse,
    turnFor(owner) {
      let turn: Pick<Turn, 'cancel' | 'release'> | undefined;
      return {
        acquire(start) {
          turn = queuePost(shares, getEndpoint(shares, owner), start);
          startWaiting(shares);
        },
        cancel: () => turn?.cancel(),
        release: (timedOut) => turn?.release(timedOut),
      };
    },
  };
}

function queuePost(shares: Shares, endpoint: Endpoint, use: () => void): Pick<Turn, 'cancel' | 'release'> {
  let silent = false;
  const start = (): void => {
    stopWaiting(shares, endpoint, start);
    silent = endpoint.silent;
    countConnection(shares, endpoint, 1, silent);
    use();
  };
  endpoint.waiting.add(start);
  endpoint.client.waiting.add(endpoint);
  shares.waiting.add(endpoint.client);
  return {
    cancel() {
      if (!endpoint.waiting.has(start)) return;
      stopWaiting(shares, endpoint, start);
      forgetIfIdle(shares, endpoint);
    },
    release(timedOut) {
      countConnection(shares, endpoint, -1, silent);
      endpoint.silent = timedOut;
      startWaiting(shares);
      forgetIfIdle(shares, endpoint);
    },
  };
}

function startWaiting(shares: Shares): void {
  // A loop, not a recursion: a destroyed pool fails a request within the call, and thousands may be waiting.
  if (shares.starting) return;
  shares.starting = true;
  for (let start = nextPost(shares); start !== undefined; start = nextPost(shares)) start();
  shares.starting = false;
}

/** The post that may start next, if any. */
function nextPost({ connectionsMax, silentMax, inUse, silentInUse, waiting }: Shares): (() => void) | undefined {
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

function stopWaiting({ waiting }: Shares, endpoint: Endpoint, start: () => void): void {
  const { client } = endpoint;
  endpoint.waiting.delete(start);
  // Those with more posts wait at the end: the next turn is another's.
  client.waiting.delete(endpoint);
  if (endpoint.waiting.size > 0) client.waiting.add(endpoint);
  waiting.delete(client);
  if (client.waiting.size > 0) waiting.add(client);
}

function countConnection(shares: Shares, endpoint: Endpoint, change: 1 | -1, silent: boolean): void {
  shares.inUse += change;
  endpoint.inUse += change;
  endpoint.client.inUse += change;
  if (!silent) return;
  shares.silentInUse += change;
  endpoint.client.silentInUse += change;
}

function getEndpoint({ clients }: Shares, { clientId, endpointId }: PostOwner): Endpoint {
  const client = clients.get(clientId) ?? newClient(clientId);
  clients.set(clientId, client);
  const endpoint = client.endpoints.get(endpointId) ?? newEndpoint(client, endpointId);
  client.endpoints.set(endpointId, endpoint);
  return endpoint;
}

/** Keeps only endpoints that are in use, waiting or silent. */
function forgetIfIdle({ clients }: Shares, endpoint: Endpoint): void {
  if (endpoint.inUse > 0 || endpoint.waiting.size > 0 || endpoint.silent) return;
  const { client } = endpoint;
  client.endpoints.delete(endpoint.id);
  if (client.endpoints.size === 0) clients.delete(client.id);
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
