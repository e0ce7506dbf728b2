import type { Server } from 'node:http';
import { BlockList, isIPv6, type Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { englishOnly } from '../../lib/bilingual-text.ts';
import { countedAddress } from '../../lib/counted-address.ts';
import { parseNetwork } from '../../outbound/address-guard.ts';
import type { ErrorForm } from '../envelope.ts';
import { unavailable } from '../errors.ts';
import { rawResponse } from '../raw-response.ts';

/** Of one listener in one process. */
export interface ConnectionLimits {
  readonly total: number;
  /**
   * Open connections of one address (`countedAddress`).
   * Trusted proxies are exempt: their connections carry many clients, and only the proxy can tell the clients apart
   * before it has opened a connection here. Bound connections per client in the proxy.
   */
  readonly perAddress: number;
  /** As Fastify's trustProxy: addresses, networks, or the names of NAMED_NETWORKS. */
  readonly trustedProxies: readonly string[];
}

export type RefusalReason = 'total' | 'per_address';

const RETRY_AFTER_MS = 5_000;
/** A refused client has this long to read why. */
const LINGER_MS = 1_000;
/** Refused clients that may be lingering at a time; beyond, connections are closed without an answer. */
const LINGERING_MAX = 100;
/** Also of the connections that are admitted: each takes an open file. */
const LINGERING_SHARE = 1 / 4;

/**
 * Admits connections before node:http sees them. A connection beyond a limit gets SERVICE_UNAVAILABLE, without a
 * request being read, and is closed. Over TLS it is closed without an answer, which would cost a handshake.
 */
export function limitConnections(
  server: Server,
  { total, perAddress, trustedProxies }: ConnectionLimits,
  onRefused: (reason: RefusalReason) => void,
  newRequestId: () => string,
  form: ErrorForm,
): void {
  const trusted = trustedNetworks(trustedProxies);
  const openByAddress = new Map<string, number>();
  let open = 0;
  const lingeringMax = server instanceof TlsServer ? 0 : Math.min(LINGERING_MAX, Math.ceil(total * LINGERING_SHARE));
  const refuse = createRefuse(form, lingeringMax);

  function count(address: string, change: 1 | -1): void {
    open += change;
    const ofAddress = (openByAddress.get(address) ?? 0) + change;
    if (ofAddress === 0) openByAddress.delete(address);
    else openByAddress.set(address, ofAddress);
  }

  function refusalOf(socket: Socket, address: string): RefusalReason | null {
    if (open >= total) return 'total';
    if ((openByAddress.get(address) ?? 0) < perAddress) return null;
    const family = isIPv6(socket.remoteAddress ?? '') ? 'ipv6' : 'ipv4';
    return trusted.check(socket.remoteAddress ?? '', family) ? null : 'per_address';
  }

  const accept = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const address = countedAddress(socket.remoteAddress);
    const reason = refusalOf(socket, address);
    if (reason !== null) {
      onRefused(reason);
      refuse(socket, newRequestId());
      return;
    }
    count(address, 1);
    socket.once('close', () => count(address, -1));
    for (const listener of accept) listener.call(server, socket);
  });
}

/** What the client sends meanwhile is discarded: a connection that is closed with unread bytes loses its answer. */
function createRefuse(form: ErrorForm, lingeringMax: number): (socket: Socket, requestId: string) => void {
  let lingering = 0;
  return (socket, requestId) => {
    // A client that has gone is no error.
    socket.on('error', () => {});
    if (lingering >= lingeringMax) {
      socket.destroy();
      return;
    }
    lingering += 1;
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => {
      lingering -= 1;
      clearTimeout(timer);
    });
    socket.resume();
    socket.end(refusal(form, requestId));
  };
}

const TOO_MANY_CONNECTIONS = englishOnly('too many open connections. Close some, or connect again later');

function refusal(form: ErrorForm, requestId: string): string {
  const { statusCode, headers, body } = form(unavailable(TOO_MANY_CONNECTIONS, RETRY_AFTER_MS), null);
  return rawResponse(statusCode, { ...headers, 'x-request-id': requestId }, body);
}

/** The names that Fastify's trustProxy knows (npm proxy-addr). */
const NAMED_NETWORKS: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.1/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

function trustedNetworks(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries.flatMap((each) => NAMED_NETWORKS[each] ?? [each])) {
    const network = parseNetwork(entry);
    // Fastify refuses to start with an entry that it does not understand.
    if (network !== null) list.addSubnet(network.address, network.prefixLength, network.family);
  }
  return list;
}
