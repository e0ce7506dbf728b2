import { TIMEOUT } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { AddressGuard } from './address-guard.ts';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** All addresses of a host name. @throws when it has none, or nobody can say. */
export type LookUp = (hostname: string) => Promise<readonly ResolvedAddress[]>;

/** What the machine's own resolver says. */
export const lookUpBySystem: LookUp = (hostname) => lookup(hostname, { all: true });

const RESOLVER_TIMEOUT_MS = 2_000;
const RESOLVER_TRIES = 2;

/**
 * What the name servers say, without the machine's own list of hosts: for receivers on the internet. Unlike the system's
 * resolver it has a deadline and holds no thread, so that names whose servers are silent keep no other name waiting.
 */
export function createNameServerLookUp(): LookUp {
  const resolver = new Resolver({ timeout: RESOLVER_TIMEOUT_MS, tries: RESOLVER_TRIES });
  return async (hostname) => {
    const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const found = [
      ...(four.status === 'fulfilled' ? four.value.map((address) => ({ address, family: 4 })) : []),
      ...(six.status === 'fulfilled' ? six.value.map((address) => ({ address, family: 6 })) : []),
    ];
    if (found.length === 0 && four.status === 'rejected') throw four.reason;
    return found;
  };
}

/** What a host came to: addresses that are permitted, all of them, or the reason why it may not be connected to. */
export type Resolution =
  | { readonly kind: 'permitted'; readonly addresses: readonly ResolvedAddress[] }
  | { readonly kind: 'refused' }
  | { readonly kind: 'unresolved'; readonly cause: unknown };

/**
 * Finds the addresses of a host, which may be a literal address. One address that is refused refuses the host: a name
 * with a public and a private address is either a mistake or an attack that hopes for the second try.
 */
export async function resolveHost(host: string, permits: AddressGuard, lookUp: LookUp): Promise<Resolution> {
  // The system's resolver is not asked about literals: it reads more spellings than the guard does.
  const family = isIP(host);
  if (family !== 0) return permits(host) ? permitted([host]) : { kind: 'refused' };
  let found: readonly ResolvedAddress[];
  try {
    found = await lookUp(host);
  } catch (cause) {
    return { kind: 'unresolved', cause };
  }
  // Copied before they are judged, so that what is connected to is what was judged.
  const addresses = found.map(({ address }) => address);
  if (addresses.length === 0) return { kind: 'unresolved', cause: new Error('the name has no address') };
  return addresses.every(permits) ? permitted(addresses) : { kind: 'refused' };
}

/**
 * Look-ups for the same name that are wanted at once share one question, and each has a deadline. The system's resolver
 * answers a handful of questions at a time for the whole process: a name whose servers are silent, asked about once for
 * each of many waiting callbacks, would keep all other names waiting.
 */
export function shareLookUps(lookUp: LookUp, timeoutMs: number): LookUp {
  const running = new Map<string, Promise<readonly ResolvedAddress[]>>();
  return (hostname) => {
    const known = running.get(hostname);
    if (known !== undefined) return known;
    const asked = lookUpWithin(timeoutMs, lookUp, hostname).finally(() => running.delete(hostname));
    running.set(hostname, asked);
    return asked;
  };
}

/** Asks with a deadline. @throws with the code of a resolver's own timeout. */
export async function lookUpWithin(
  timeoutMs: number,
  lookUp: LookUp,
  hostname: string,
): Promise<readonly ResolvedAddress[]> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(Object.assign(new Error(`not resolved within ${timeoutMs} ms`), { code: TIMEOUT }));
    }, timeoutMs);
  });
  try {
    return await Promise.race([lookUp(hostname), deadline]);
  } finally {
    clearTimeout(timer);
  }
}

function permitted(addresses: readonly string[]): Resolution {
  return { kind: 'permitted', addresses: addresses.map((address) => ({ address, family: isIP(address) })) };
}
