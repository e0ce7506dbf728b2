import { isIP } from 'node:net';
import { type AddressGuard, isLoopback } from './address-guard.ts';
import type { OutboundPolicy } from './policy.ts';

/**
 * Names that have a meaning only inside a machine or a network: RFC 6761 (localhost), RFC 6762 (local), RFC 8375
 * (home.arpa), and internal, which ICANN keeps for private use.
 */
const PRIVATE_SUFFIXES = ['localhost', 'local', 'internal', 'home.arpa'];

/** The host of a URL as a socket takes it: an IPv6 address without its brackets. */
export function hostOf(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
}

/** Whether a host is this machine by its name or its number, without asking anybody. */
export function isLoopbackHost(host: string): boolean {
  return isIP(host) === 0 ? isWithin(host, 'localhost') : isLoopback(host);
}

/** Whether a name cannot be somebody's receiver on the internet. A name of one label is completed by the resolver. */
export function isPrivateName(host: string): boolean {
  return !host.includes('.') || PRIVATE_SUFFIXES.some((suffix) => isWithin(host, suffix));
}

/**
 * The guard of one host's addresses. In the sandbox, http is permitted because a host is this machine: then each of its
 * addresses has to be.
 */
export function guardOf(host: string, policy: OutboundPolicy, guard: AddressGuard): AddressGuard {
  return policy.loopbackHttp && isLoopbackHost(host) ? isLoopback : guard;
}

const isWithin = (host: string, suffix: string): boolean => host === suffix || host.endsWith(`.${suffix}`);
