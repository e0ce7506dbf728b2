import { once } from 'node:events';
import { connect as connectTcp, type LookupFunction, type Socket } from 'node:net';
import { createSecureContext, getCACertificates } from 'node:tls';
import { buildConnector } from 'undici';
import { limitExchange } from '../lib/exchange-limit.ts';
import type { AddressGuard } from './address-guard.ts';
import { type ResolvedAddress, type ResolveName, resolveHost } from './name-resolution.ts';
import { connectionFailure, nameFailure, OutboundFailure, tlsFailure } from './outbound-failure.ts';

/** The timeout of one address while another is left; a round trip around the globe takes 300 ms. */
const ATTEMPT_TIMEOUT_MS = 1_000;
const KEEP_ALIVE_PROBE_AFTER_MS = 60_000;

export interface GuardedConnectDependencies {
  /** Returns the guard for the addresses of a host. */
  readonly guardOf: (host: string) => AddressGuard;
  readonly resolveName: ResolveName;
  /** Trusted in addition to the public authorities; PEM. */
  readonly certificateAuthorities: readonly string[];
  /** For name resolution, TCP connection and TLS handshake together. */
  readonly connectTimeoutMs: number;
  /** All bytes that may arrive in answer to one request. */
  readonly exchangeBytesMax: number;
}

export interface GuardedConnect {
  /** For undici. Every failure is an OutboundFailure. */
  readonly connect: buildConnector.connector;
  /** Aborts the connections that are being opened. */
  abort(): void;
}

/**
 * Connects only to permitted addresses. Each connection resolves the name itself, checks all of its addresses, and
 * connects to the checked ones: a name could resolve to another address after an earlier check (DNS rebinding). Literal
 * addresses take the same path; a guard in a socket's `lookup` is never called for them.
 */
export function createGuardedConnect(dependencies: GuardedConnectDependencies): GuardedConnect {
  const startTls = buildConnector({
    allowH2: false,
    // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED in the environment changes the default.
    rejectUnauthorized: true,
    secureContext: createSecureContext(trustedAuthorities(dependencies.certificateAuthorities)),
    timeout: 0,
  });
  const pending = new Set<AbortController>();

  async function open(options: buildConnector.Options): Promise<Socket> {
    const { hostname, protocol } = options;
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), dependencies.connectTimeoutMs);
    pending.add(timeout);
    try {
      const permits = dependencies.guardOf(hostname);
      const addresses = await permittedAddresses(hostname, permits, dependencies.resolveName);
      timeout.signal.throwIfAborted();
      const port = Number(options.port) || (protocol === 'https:' ? 443 : 80);
      const socket = await openSocket({ hostname, port, addresses, permits, signal: timeout.signal });
      const opened = protocol === 'https:' ? await startTlsOver(socket, options, startTls) : socket;
      limitExchange(opened, dependencies.exchangeBytesMax);
      return opened;
    } catch (error) {
      if (timeout.signal.aborted) throw new OutboundFailure('timeout', `No connection to ${hostname} in time`, error);
      throw error;
    } finally {
      clearTimeout(timer);
      pending.delete(timeout);
    }
  }

  return {
    connect(options, callback) {
      void report(open(options), callback);
    },
    abort() {
      for (const timeout of pending) timeout.abort();
    },
  };
}

async function report(opening: Promise<Socket>, callback: buildConnector.Callback): Promise<void> {
  let socket: Socket;
  try {
    socket = await opening;
  } catch (error) {
    callback(error as OutboundFailure, null);
    return;
  }
  callback(null, socket);
}

export interface SocketRequest {
  readonly hostname: string;
  readonly port: number;
  /** All permitted. When one does not answer, the next is tried. */
  readonly addresses: readonly ResolvedAddress[];
  readonly permits: AddressGuard;
  readonly signal: AbortSignal;
}

/**
 * Opens a connection, and checks the address that it reached before a byte is written. The code between here and the
 * network (a resolver, a proxy in the socket layer, a defect) may have connected to another address.
 *
 * @throws OutboundFailure
 */
export async function openSocket({ hostname, port, addresses, permits, signal }: SocketRequest): Promise<Socket> {
  const lookup: LookupFunction = (_hostname, _options, callback) => {
    process.nextTick(callback, null, addresses);
  };
  const socket = connectTcp({
    host: hostname,
    port,
    lookup,
    signal,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_TIMEOUT_MS,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_PROBE_AFTER_MS,
  });
  try {
    await once(socket, 'connect');
  } catch (error) {
    throw connectionFailure(hostname, error);
  }
  // Without a listener an error would end the process. The next owner of the socket sees the error as its close.
  socket.on('error', () => undefined);
  if (!permits(socket.remoteAddress ?? '')) {
    socket.destroy();
    throw blockedAddress(hostname);
  }
  return socket;
}

async function permittedAddresses(
  hostname: string,
  permits: AddressGuard,
  resolveName: ResolveName,
): Promise<readonly ResolvedAddress[]> {
  const resolution = await resolveHost(hostname, permits, resolveName);
  switch (resolution.kind) {
    case 'permitted':
      return resolution.addresses;
    case 'blocked':
      throw blockedAddress(hostname);
    case 'unresolved':
      throw nameFailure(hostname, resolution.cause);
  }
}

function startTlsOver(
  socket: Socket,
  options: buildConnector.Options,
  startTls: buildConnector.connector,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      socket.destroy();
      reject(tlsFailure(options.hostname, error));
    };
    // A socket that is destroyed during the handshake ends it without an error.
    socket.once('close', () => fail(new Error('closed during the handshake')));
    startTls({ ...options, httpSocket: socket }, (...[error, secured]) => {
      if (error === null) resolve(secured);
      else fail(error);
    });
  });
}

/** The message is that of a name that does not resolve: clients must not learn which names the network has. */
function blockedAddress(hostname: string): OutboundFailure {
  return new OutboundFailure('blocked_address', `The name ${hostname} does not resolve to public addresses only`);
}

function trustedAuthorities(certificateAuthorities: readonly string[]): { ca?: string[] } {
  // `ca` replaces the public authorities, and receivers outside the operator's network need those.
  return certificateAuthorities.length === 0
    ? {}
    : { ca: [...getCACertificates('default'), ...certificateAuthorities] };
}
