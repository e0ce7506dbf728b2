import { createAddressGuard } from './address-guard.ts';
import { judgeDestination } from './destination.ts';
import { createGuardedConnect } from './guarded-connect.ts';
import { guardOf, hostOf } from './host.ts';
import { type LookUp, lookUpBySystem, shareLookUps } from './look-up.ts';
import { createOriginPools } from './origin-pools.ts';
import { OutboundFailure } from './outbound-failure.ts';
import type { OutboundPolicy } from './policy.ts';
import { type OutboundReply, receiveReply } from './reply.ts';

export interface GuardedHttp {
  /**
   * Posts to an address that a client has registered. The deadline is for everything: waiting for a connection, name,
   * connection, handshake, reply. Any status is a reply, and redirects are not followed.
   *
   * @throws OutboundFailure There is no reply. Any other error says nothing about the receiver.
   */
  post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string | Buffer,
    options: { readonly timeoutMs: number },
  ): Promise<OutboundReply>;
  /** Cuts all connections; posts that are under way fail with an error that is no OutboundFailure. */
  close(): Promise<void>;
}

export interface GuardedHttpOptions {
  readonly policy: OutboundPolicy;
  readonly lookUp?: LookUp;
  /** PEM certificates trusted beside the public authorities: for operators with an authority of their own. */
  readonly certificateAuthorities?: readonly string[];
  /** For the name, the connection and the handshake together; the deadline of a post may be shorter. */
  readonly connectTimeoutMs?: number;
  /** How many origins keep their connections. */
  readonly originsMax?: number;
  readonly connectionsPerOriginMax?: number;
  /** Shorter than the 5 s after which many servers close: a post on a connection that is just being closed is lost. */
  readonly idleTimeoutMs?: number;
}

const REPLY_HEADER_BYTES_MAX = 16 * 1024;

/**
 * HTTP to addresses that strangers chose. Whatever URL they registered and whatever their name servers say, at whatever
 * moment: no connection is made to an address that the policy does not permit.
 */
export function createGuardedHttp({
  policy,
  lookUp = lookUpBySystem,
  certificateAuthorities = [],
  connectTimeoutMs = 10_000,
  originsMax = 256,
  connectionsPerOriginMax = 64,
  idleTimeoutMs = 4_000,
}: GuardedHttpOptions): GuardedHttp {
  const guard = createAddressGuard(policy.allowed);
  const connecting = createGuardedConnect({
    guardOf: (host) => guardOf(host, policy, guard),
    lookUp: shareLookUps(lookUp, connectTimeoutMs),
    certificateAuthorities,
    connectTimeoutMs,
  });
  const origins = createOriginPools(connecting.connect, {
    originsMax,
    connectionsPerOriginMax,
    idleTimeoutMs,
    replyHeaderBytesMax: REPLY_HEADER_BYTES_MAX,
  });

  return {
    async post(url, headers, body, { timeoutMs }) {
      // Again, although it was judged when it was registered: the policy may be younger than the URL.
      const judgement = judgeDestination(url, policy, guard);
      if ('fault' in judgement) throw new OutboundFailure('refused_address', judgement.fault);
      const destination = judgement.url;
      return new Promise((resolve, reject) => {
        const turn = origins.turnAt(destination.origin);
        const handler = receiveReply({ host: hostOf(destination), timeoutMs, turn, resolve, reject });
        const path = destination.pathname + destination.search;
        turn.begin((pool) => pool.dispatch({ method: 'POST', path, headers, body }, handler));
      });
    },
    async close() {
      connecting.abort();
      await origins.close();
    },
  };
}
