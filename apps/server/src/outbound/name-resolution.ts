import { TIMEOUT } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { AddressGuard } from './address-guard.ts';

export interface ResolvedAddress {
  readonly address: string;
  /** 4 or 6. */
  readonly family: number;
}

/** Returns all addresses of a host name. @throws when it has none or resolution fails. */
export type ResolveName = (hostname: string) => Promise<readonly ResolvedAddress[]>;

/** Uses the operating system's resolver, which also reads the hosts file. */
export const resolveBySystem: ResolveName = (hostname) => lookup(hostname, { all: true });

const RESOLVER_TIMEOUT_MS = 2_000;
const RESOLVER_TRIES = 2;

/**
 * Asks the name servers without reading the machine's hosts file: for receivers on the internet. Unlike the operating
 * system's resolver it has a timeout and holds no thread, so a name whose servers are silent delays no other name.
 */
export function createDnsResolver(): ResolveName {
  const resolver = new Resolver({ timeout: RESOLVER_TIMEOUT_MS, tries: RESOLVER_TRIES });
  return async (hostname) => {
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const found = [
      ...(ipv4.status === 'fulfilled' ? ipv4.value.map((address) => ({ address, family: 4 })) : []),
      ...(ipv6.status === 'fulfilled' ? ipv6.value.map((address) => ({ address, family: 6 })) : []),
    ];
    if (found.length === 0 && ipv4.status === 'rejected') throw ipv4.reason;
    return found;
  };
}

/** The addresses of a host, all of them permitted, or the reason why no connection may be made. */
export type Resolution =
  | { readonly kind: 'permitted'; readonly addresses: readonly ResolvedAddress[] }
  | { readonly kind: 'blocked' }
  | { readonly kind: 'unresolved'; readonly cause: unknown };

/**
 * Resolves a host, which may be a literal address. One blocked address blocks the host: a name with a public and a
 * private address is either a mistake or an attack that relies on the second connection attempt.
 */
export async function resolveHost(host: string, permits: AddressGuard, resolveName: ResolveName): Promise<Resolution> {
  // Literals bypass the operating system's resolver, which accepts more spellings than the guard does.
  const family = isIP(host);
  if (family !== 0) return permits(host) ? permitted([host]) : { kind: 'blocked' };
  let found: readonly ResolvedAddress[];
  try {
    found = await resolveName(host);
  } catch (cause) {
    return { kind: 'unresolved', cause };
  }
  // Copied before the check, so that connections go to the addresses that were checked.
  const addresses = found.map(({ address }) => address);
  if (addresses.length === 0) return { kind: 'unresolved', cause: new Error('the name has no address') };
  return addresses.every(permits) ? permitted(addresses) : { kind: 'blocked' };
}

/**
 * Concurrent resolutions of the same name share one query, and each has a timeout. The operating system's resolver
 * handles only a few queries at a time for the whole process: without sharing, many callbacks that wait for a name
 * whose servers are silent would block all other names.
 */
export function shareResolutions(resolveName: ResolveName, timeoutMs: number): ResolveName {
  const running = new Map<string, Promise<readonly ResolvedAddress[]>>();
  return (hostname) => {
    const shared = running.get(hostname);
    if (shared !== undefined) return shared;
    const resolution = resolveWithin(timeoutMs, resolveName, hostname).finally(() => running.delete(hostname));
    running.set(hostname, resolution);
    return resolution;
  };
}

/** Resolves with a timeout. @throws with the code of a resolver's own timeout. */
export async function resolveWithin(
  timeoutMs: number,
  resolveName: ResolveName,
  hostname: string,
): Promise<readonly ResolvedAddress[]> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(Object.assign(new Error(`not resolved within ${timeoutMs} ms`), { code: TIMEOUT }));
    }, timeoutMs);
  });
  try {
    return await Promise.race([resolveName(hostname), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function permitted(addresses: readonly string[]): Resolution {
  return { kind: 'permitted', addresses: addresses.map((address) => ({ address, family: isIP(address) })) };
}
