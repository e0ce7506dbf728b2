/**
 * Networks without receivers of callbacks, but perhaps with an internal database. From IANA's registries of
 * special-purpose addresses for IPv4 and IPv6 (RFC 6890). Every entry is blocked: the few that are globally reachable
 * are infrastructure, not receivers.
 */
export const SPECIAL_NETWORKS_V4 = [
  '0.0.0.0/8', // this network, RFC 791; Linux connects 0.0.0.0 to itself
  '10.0.0.0/8', // private, RFC 1918
  '100.64.0.0/10', // carrier-grade NAT, RFC 6598
  '127.0.0.0/8', // loopback, RFC 1122
  '169.254.0.0/16', // link-local, RFC 3927
  '172.16.0.0/12', // private, RFC 1918
  '192.0.0.0/24', // protocol assignments, RFC 6890
  '192.0.2.0/24', // documentation, RFC 5737
  '192.31.196.0/24', // AS112, RFC 7535
  '192.52.193.0/24', // multicast tunnels, RFC 7450
  '192.88.99.0/24', // relays of 6to4, RFC 7526
  '192.168.0.0/16', // private, RFC 1918
  '192.175.48.0/24', // AS112, RFC 7534
  '198.18.0.0/15', // benchmarks, RFC 2544
  '198.51.100.0/24', // documentation, RFC 5737
  '203.0.113.0/24', // documentation, RFC 5737
  '224.0.0.0/4', // multicast, RFC 5771
  '240.0.0.0/4', // reserved, RFC 1112, with the broadcast address, RFC 919
] as const;

/**
 * The only IPv6 addresses assigned for use on the internet (RFC 4291, 2.4). Outside it are loopback, unique-local,
 * link-local, multicast, IPv4-mapped and -compatible addresses, both prefixes of NAT64, and future special networks.
 */
export const GLOBAL_UNICAST_V6 = '2000::/3';

/** The special networks within 2000::/3. */
export const SPECIAL_NETWORKS_V6 = [
  '2001::/23', // protocol assignments, RFC 2928: Teredo, which carries IPv4 addresses; benchmarks; ORCHID; drones
  '2001:db8::/32', // documentation, RFC 3849
  '2002::/16', // 6to4, RFC 3056, which carries IPv4 addresses
  '2620:4f:8000::/48', // AS112, RFC 7534
  '3fff::/20', // documentation, RFC 9637
] as const;

/**
 * Cloud metadata services, which give credentials to any caller inside the network. Blocked even when the operator
 * permits a network around them: an operator who permits fd00::/8 may not know of fd00:ec2::254. The IPv4 networks are
 * blocked in each of their IPv6 forms too.
 */
export const METADATA_NETWORKS_V4 = [
  '169.254.0.0/16', // 169.254.169.254 of nearly all clouds, and its neighbors for containers
  '100.100.100.200/32', // Alibaba
  '168.63.129.16/32', // Azure; in a public range
  '192.0.0.192/32', // Oracle
] as const;

export const METADATA_NETWORKS_V6 = [
  'fe80::/10', // link-local
  'fd00:ec2::/32', // Amazon
  'fd20:ce::254/128', // Google
] as const;
