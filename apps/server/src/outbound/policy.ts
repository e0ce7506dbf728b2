import { isIP } from 'node:net';
import { type AddressGuard, isLoopback } from './address-guard.ts';

/** Where callbacks may be sent. Clients register the addresses, so an attacker with a client can register any. */
export interface OutboundPolicy {
  /** Ports that an https URL may name. */
  readonly ports: readonly number[];
  /**
   * Networks in CIDR notation, or single addresses, that are permitted although they are not public: for operators with
   * internal receivers. When it is not empty, names that only resolve inside a network are permitted too.
   */
  readonly allowed: readonly string[];
  /** For the sandbox: permits http, and any port, to this machine. */
  readonly loopbackHttp: boolean;
}

/**
 * Names that only have a meaning inside a machine or a network: RFC 6761 (localhost), RFC 6762 (local), RFC 8375
 * (home.arpa), and internal, which ICANN reserves for private use.
 */
const PRIVATE_SUFFIXES = ['localhost', 'local', 'internal', 'home.arpa'];

/** The host of a URL as a socket takes it: an IPv6 address without its brackets. */
export function hostOf(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
}

/** Whether a host is this machine, by its name or address alone, without name resolution. */
export function isLoopbackHost(host: string): boolean {
  return isIP(host) === 0 ? isWithin(host, 'localhost') : isLoopback(host);
}

/** Whether a name cannot belong to a receiver on the internet. The resolver completes a name of one label. */
export function isPrivateName(host: string): boolean {
  return !host.includes('.') || PRIVATE_SUFFIXES.some((suffix) => isWithin(host, suffix));
}

/**
 * The guard for the addresses of one host. In the sandbox, http is permitted because the host is this machine; then
 * each of its addresses must be a loopback address.
 */
export function guardOf(host: string, policy: OutboundPolicy, guard: AddressGuard): AddressGuard {
  return policy.loopbackHttp && isLoopbackHost(host) ? isLoopback : guard;
}

const isWithin = (host: string, suffix: string): boolean => host === suffix || host.endsWith(`.${suffix}`);
