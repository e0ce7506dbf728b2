import { TIMEOUT } from 'node:dns';
import { ExchangeTooLarge } from '../lib/exchange-limit.ts';

/**
 * The reason why there is no reply.
 *
 * - `blocked_address`: the policy does not permit the URL or an address of its host
 * - `timeout`: no connection, or no complete reply, in time
 * - `unreachable`: the name does not resolve, no process listens on the port, or the connection was lost
 * - `tls`: no TLS, or an untrusted certificate
 * - `too_large`: the reply headers, the number of interim replies, or all bytes together exceed the limit
 * - `bad_reply`: not HTTP, or a truncated body
 */
export type OutboundFailureReason = 'blocked_address' | 'timeout' | 'unreachable' | 'tls' | 'too_large' | 'bad_reply';

/**
 * A post without a reply. The message is for the client's developer: it names the host and no address, so that it does
 * not reveal how names resolve inside the operator's network. The cause is for the operator.
 */
export class OutboundFailure extends Error {
  readonly reason: OutboundFailureReason;

  constructor(reason: OutboundFailureReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** The code of an error of Node, OpenSSL or undici; an empty string when it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

const TLS_FAULTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is signed by an authority that is not trusted here',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate chain is incomplete or its authority is not trusted here',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate chain is incomplete or its authority is not trusted here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate chain is incomplete or its authority is not trusted here',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not use TLS on this port',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not use TLS on this port',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'it does not support TLS 1.2 or later',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'it does not support TLS 1.2 or later',
};

/** TLS failed. */
export function tlsFailure(host: string, error: unknown): OutboundFailure {
  const fault = TLS_FAULTS[codeOf(error)] ?? 'the handshake failed';
  return new OutboundFailure('tls', `No secure connection to ${host}: ${fault}`, error);
}

const CONNECTION_FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no server listens on this port',
  ECONNRESET: 'the connection was reset',
  EHOSTUNREACH: 'there is no route to its network',
  ENETUNREACH: 'there is no route to its network',
};

/** The TCP connection failed. */
export function connectionFailure(host: string, error: unknown): OutboundFailure {
  const code = codeOf(error);
  if (code === 'ETIMEDOUT') return new OutboundFailure('timeout', `No connection to ${host} in time`, error);
  const fault = CONNECTION_FAULTS[code] ?? 'it cannot be reached';
  return new OutboundFailure('unreachable', `No connection to ${host}: ${fault}`, error);
}

/** Name resolution failed. */
export function nameFailure(host: string, error: unknown): OutboundFailure {
  return codeOf(error) === TIMEOUT
    ? new OutboundFailure('timeout', `The name ${host} was not resolved in time`, error)
    : new OutboundFailure('unreachable', `The name ${host} does not resolve to public addresses only`, error);
}

const NOT_HTTP = /^bad (?:response|upgrade)$/;

/** The connection was made, but no valid reply came. `answered`: the status line had arrived. */
export function exchangeFailure(host: string, answered: boolean, error: Error): OutboundFailure {
  const code = codeOf(error);
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new OutboundFailure('too_large', `The reply of ${host} has headers above the size limit`, error);
  }
  if (error instanceof ExchangeTooLarge) {
    return new OutboundFailure('too_large', `The reply of ${host} is above the size limit`, error);
  }
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return tlsFailure(host, error);
  if (answered) return new OutboundFailure('bad_reply', `The reply of ${host} was cut short`, error);
  const isConnectionLost = 'syscall' in error || (code === 'UND_ERR_SOCKET' && !NOT_HTTP.test(error.message));
  return isConnectionLost
    ? new OutboundFailure('unreachable', `${host} closed the connection before it answered`, error)
    : new OutboundFailure('bad_reply', `The reply of ${host} is not a valid HTTP response`, error);
}
