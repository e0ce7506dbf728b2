import { createAddressGuard } from './address-guard.ts';
import type { PostOwner } from './connection-shares.ts';
import { validateDestination } from './destination.ts';
import { createGuardedConnect } from './guarded-connect.ts';
import { type ResolveName, resolveBySystem, shareResolutions } from './name-resolution.ts';
import { createOriginPools } from './origin-pools.ts';
import { OutboundFailure } from './outbound-failure.ts';
import { guardOf, hostOf, type OutboundPolicy } from './policy.ts';
import { createReplyHandler, type OutboundReply } from './reply.ts';

export interface GuardedHttp {
  /**
   * Posts to a URL that a client has registered. The timeout covers everything: waiting for a connection, name
   * resolution, TCP connection, TLS handshake and reply. Any status is a reply, and redirects are not followed. The
   * connections of an origin are shared among clients, and among the endpoints of each.
   *
   * @throws OutboundFailure when there is no reply. Any other error is a fault of this process, not of the receiver.
   */
  post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string | Buffer,
    options: PostOptions,
  ): Promise<OutboundReply>;
  /** Closes all connections. Posts in flight fail with an error that is no OutboundFailure. */
  close(): Promise<void>;
}

export interface PostOptions {
  readonly timeoutMs: number;
  readonly owner: PostOwner;
}

export interface GuardedHttpOptions {
  readonly policy: OutboundPolicy;
  readonly resolveName?: ResolveName;
  /** PEM certificates trusted in addition to the public authorities: for operators with their own authority. */
  readonly certificateAuthorities?: readonly string[];
  /** For name resolution, TCP connection and TLS handshake together; the timeout of a post may be shorter. */
  readonly connectTimeoutMs?: number;
  /** Origins whose idle connections are kept. */
  readonly originsMax?: number;
  /** Of all clients together; one client gets at most half of them. */
  readonly connectionsPerOriginMax?: number;
  /** Shorter than the 5 s after which many servers close: a post on a connection that the server is closing is lost. */
  readonly idleTimeoutMs?: number;
}

const REPLY_HEADER_BYTES_MAX = 16 * 1024;
/**
 * Everything that arrives in answer to one post. It leaves space for the headers, the 64 KiB of body that are read, and
 * the chunk in which a longer body exceeds them: a body that is only too long still counts as a reply.
 */
const EXCHANGE_BYTES_MAX = 256 * 1024;

/**
 * HTTP to URLs that clients choose. No connection is made to an address that the policy does not permit, regardless of
 * the registered URL and of the answers of its name servers at any moment (SSRF, DNS rebinding).
 */
export function createGuardedHttp({
  policy,
  resolveName = resolveBySystem,
  certificateAuthorities = [],
  connectTimeoutMs = 10_000,
  originsMax = 256,
  connectionsPerOriginMax = 64,
  idleTimeoutMs = 4_000,
}: GuardedHttpOptions): GuardedHttp {
  const guard = createAddressGuard(policy.allowed);
  const connector = createGuardedConnect({
    guardOf: (host) => guardOf(host, policy, guard),
    resolveName: shareResolutions(resolveName, connectTimeoutMs),
    certificateAuthorities,
    connectTimeoutMs,
    exchangeBytesMax: EXCHANGE_BYTES_MAX,
  });
  const origins = createOriginPools(connector.connect, {
    originsMax,
    connectionsPerOriginMax,
    idleTimeoutMs,
    replyHeaderBytesMax: REPLY_HEADER_BYTES_MAX,
  });

  return {
    async post(url, headers, body, { timeoutMs, owner }) {
      // Validated again: the policy may have changed since the URL was registered.
      const result = validateDestination(url, policy, guard);
      if ('fault' in result) throw new OutboundFailure('blocked_address', result.fault.en);
      const destination = result.url;
      return new Promise((resolve, reject) => {
        const slot = origins.slotFor(destination.origin, owner);
        const handler = createReplyHandler({ host: hostOf(destination), timeoutMs, slot, resolve, reject });
        const path = destination.pathname + destination.search;
        slot.acquire((pool) => pool.dispatch({ method: 'POST', path, headers, body }, handler));
      });
    },
    async close() {
      connector.abort();
      await origins.close();
    },
  };
}
