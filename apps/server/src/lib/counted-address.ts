import { isIPv6 } from 'node:net';

/**
 * What a limit per address counts: the /64 network of an IPv6 address, because a client usually has a whole one, and
 * the IPv4 address in an IPv4-mapped one. Records and the log have the address itself.
 */
export function countedAddress(address = ''): string {
  if (!isIPv6(address)) return address;
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length);
  const all = [...groups, ...Array.from({ length: missing }, () => '0'), ...(tail ?? '').split(':')];
  return all.slice(0, 4).join(':');
}
