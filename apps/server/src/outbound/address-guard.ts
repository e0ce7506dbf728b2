import { BlockList, isIP } from 'node:net';
import {
  GLOBAL_UNICAST_V6,
  METADATA_NETWORKS_V4,
  METADATA_NETWORKS_V6,
  SPECIAL_NETWORKS_V4,
  SPECIAL_NETWORKS_V6,
} from './special-networks.ts';

/** Whether a connection to an address is permitted. A text that is not an address is not permitted. */
export type AddressGuard = (address: string) => boolean;

export interface Network {
  readonly address: string;
  readonly prefixLength: number;
  readonly family: 'ipv4' | 'ipv6';
}

const special = { ipv4: networks(SPECIAL_NETWORKS_V4), ipv6: networks(SPECIAL_NETWORKS_V6) };
const metadata = {
  ipv4: networks(METADATA_NETWORKS_V4),
  ipv6: networks([...METADATA_NETWORKS_V6, ...METADATA_NETWORKS_V4.flatMap(ipv6Forms)]),
};
const globalUnicast = networks([GLOBAL_UNICAST_V6]);
const loopback = { ipv4: networks(['127.0.0.0/8']), ipv6: networks(['::1/128']) };

/**
 * Creates a guard that permits public addresses and those in `allowed`.
 *
 * @param allowed Networks in CIDR notation, or single addresses.
 * @throws RangeError when one of them is invalid.
 */
export function createAddressGuard(allowed: readonly string[] = []): AddressGuard {
  const parsed = allowed.map(readNetwork);
  // One list for each family: BlockList treats an IPv4-mapped address as the IPv4 address in it, and receivers do not
  // use that form.
  const permitted = {
    ipv4: blockList(parsed.filter(({ family }) => family === 'ipv4')),
    ipv6: blockList(parsed.filter(({ family }) => family === 'ipv6')),
  };
  return (address) => {
    const family = familyOf(address);
    if (family === null || metadata[family].check(address, family)) return false;
    return permitted[family].check(address, family) || isPublic(address, family);
  };
}

/** Whether this is a loopback address in its usual spelling. */
export const isLoopback: AddressGuard = (address) => {
  const family = familyOf(address);
  return family !== null && loopback[family].check(address, family);
};

/** Parses `10.0.0.0/8`, `fd00::/8` or a single address; null when it is none of these. */
export function parseNetwork(text: string): Network | null {
  const [address = '', length, ...rest] = text.split('/');
  const family = familyOf(address);
  if (family === null || rest.length > 0) return null;
  const bits = family === 'ipv4' ? 32 : 128;
  if (length === undefined) return { address, prefixLength: bits, family };
  if (!/^\d{1,3}$/.test(length) || Number(length) > bits) return null;
  return { address, prefixLength: Number(length), family };
}

function isPublic(address: string, family: Network['family']): boolean {
  if (family === 'ipv6' && !globalUnicast.check(address, family)) return false;
  return !special[family].check(address, family);
}

/** An address with a zone (RFC 4007) is valid on one link only, even if its number is a public one. */
function familyOf(address: string): Network['family'] | null {
  if (address.includes('%')) return null;
  const version = isIP(address);
  if (version === 0) return null;
  return version === 4 ? 'ipv4' : 'ipv6';
}

function readNetwork(text: string): Network {
  const network = parseNetwork(text);
  if (network === null) throw new RangeError(`neither an address nor a network in CIDR notation: ${text}`);
  return network;
}

/** The IPv6 forms of an IPv4 network: packets to them can arrive in that network. */
function ipv6Forms(text: string): string[] {
  const { address, prefixLength } = readNetwork(text);
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const groups = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  return [
    `::ffff:${groups}/${96 + prefixLength}`, // IPv4-mapped, RFC 4291
    `::${groups}/${96 + prefixLength}`, // IPv4-compatible, RFC 4291
    `64:ff9b::${groups}/${96 + prefixLength}`, // NAT64, RFC 6052
    `2002:${groups}::/${16 + prefixLength}`, // 6to4, RFC 3056
  ];
}

function networks(texts: readonly string[]): BlockList {
  return blockList(texts.map(readNetwork));
}

function blockList(networks: readonly Network[]): BlockList {
  const list = new BlockList();
  for (const { address, prefixLength, family } of networks) list.addSubnet(address, prefixLength, family);
  return list;
}
