import { once } from 'node:events';
import { connect as connectTcp, type LookupFunction, type Socket } from 'node:net';
import { createSecureContext, getCACertificates } from 'node:tls';
import { buildConnector } from 'undici';
import type { AddressGuard } from './address-guard.ts';
import { type LookUp, type ResolvedAddress, resolveHost } from './look-up.ts';
import { connectionFailure, nameFailure, OutboundFailure, tlsFailure } from './outbound-failure.ts';

/** How long one address may take while there is another; a packet around the globe and back takes 300 ms. */
const ATTEMPT_TIMEOUT_MS = 1_000;
const KEEP_ALIVE_PROBE_AFTER_MS = 60_000;

export interface GuardedConnectDependencies {
  /** The guard for a host's addresses. */
  readonly guardOf: (host: string) => AddressGuard;
  readonly lookUp: LookUp;
  /** Trusted beside the public authorities; PEM. */
  readonly certificateAuthorities: readonly string[];
  /** For the name, the connection and the handshake together. */
  readonly connectTimeoutMs: number;
}

export interface GuardedConnect {
  /** For undici. It fails with an OutboundFailure alone. */
  readonly connect: buildConnector.connector;
  /** Gives up on the connections that are being made. */
  abort(): void;
}

/**
 * Makes connections to permitted addresses alone. Each connection resolves the name itself, judges all its addresses,
 * and connects to those that it judged: between a judgement and a later resolution the name could change its mind.
 * Literal addresses take the same way; a guard in a socket's `lookup` would never hear of them.
 */
export function createGuardedConnect(dependencies: GuardedConnectDependencies): GuardedConnect {
  const startTls = buildConnector({
    allowH2: false,
    // Said aloud, because NODE_TLS_REJECT_UNAUTHORIZED in the environment could unsay the default.
    rejectUnauthorized: true,
    secureContext: createSecureContext(trust(dependencies.certificateAuthorities)),
    timeout: 0,
  });
  const opening = new Set<AbortController>();

  async function open(options: buildConnector.Options): Promise<Socket> {
    const { hostname, protocol } = options;
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), dependencies.connectTimeoutMs);
    opening.add(limit);
    try {
      const permits = dependencies.guardOf(hostname);
      const addresses = await permittedAddresses(hostname, permits, dependencies.lookUp);
      limit.signal.throwIfAborted();
      const port = Number(options.port) || (protocol === 'https:' ? 443 : 80);
      const socket = await openSocket({ hostname, port, addresses, permits, signal: limit.signal });
      return protocol === 'https:' ? await secure(socket, options, startTls) : socket;
    } catch (error) {
      if (limit.signal.aborted) throw new OutboundFailure('timeout', `No connection to ${hostname} in time`, error);
      throw error;
    } finally {
      clearTimeout(timer);
      opening.delete(limit);
    }
  }

  return {
    connect(options, callback) {
      void answer(open(options), callback);
    },
    abort() {
      for (const limit of opening) limit.abort();
    },
  };
}

async function answer(opening: Promise<Socket>, callback: buildConnector.Callback): Promise<void> {
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
  /** All permitted; the next is tried when one does not answer. */
  readonly addresses: readonly ResolvedAddress[];
  readonly permits: AddressGuard;
  readonly signal: AbortSignal;
}

/**
 * Opens a connection, and looks once more at whom it has reached before a byte is written: what is between here and the
 * network (a resolver, a proxy in the socket layer, a defect) is not trusted to have obeyed.
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
  // Until somebody else listens, an error here would end the process; whoever takes the socket learns of it by its close.
  socket.on('error', () => undefined);
  if (!permits(socket.remoteAddress ?? '')) {
    socket.destroy();
    throw refusedAddress(hostname);
  }
  return socket;
}

async function permittedAddresses(
  hostname: string,
  permits: AddressGuard,
  lookUp: LookUp,
): Promise<readonly ResolvedAddress[]> {
  const resolution = await resolveHost(hostname, permits, lookUp);
  switch (resolution.kind) {
    case 'permitted':
      return resolution.addresses;
    case 'refused':
      throw refusedAddress(hostname);
    case 'unresolved':
      throw nameFailure(hostname, resolution.cause);
  }
}

function secure(socket: Socket, options: buildConnector.Options, startTls: buildConnector.connector): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      socket.destroy();
      reject(tlsFailure(options.hostname, error));
    };
    // A socket that is destroyed under the handshake ends it without a word.
    socket.once('close', () => fail(new Error('closed during the handshake')));
    startTls({ ...options, httpSocket: socket }, (...[error, secured]) => {
      if (error === null) resolve(secured);
      else fail(error);
    });
  });
}

function refusedAddress(hostname: string): OutboundFailure {
  return new OutboundFailure(
    'refused_address',
    `${hostname} has an address that callbacks are not sent to: use a host with public addresses alone`,
  );
}

function trust(certificateAuthorities: readonly string[]): { ca?: string[] } {
  // Naming any replaces the public ones; receivers inside and outside are both wanted.
  return certificateAuthorities.length === 0
    ? {}
    : { ca: [...getCACertificates('default'), ...certificateAuthorities] };
}
