// Special networks and the spellings of addresses, computed with integers, so that the tests do not share code with the
// guard.

import fc from 'fast-check';

export interface AddressRange {
  readonly first: bigint;
  readonly last: bigint;
}

const range = (start: bigint, prefixLength: number, bits: number): AddressRange => ({
  first: start,
  last: start + 2n ** BigInt(bits - prefixLength) - 1n,
});
const four = (a: number, b: number, c: number, d: number, prefixLength: number): AddressRange =>
  range(BigInt(((a * 256 + b) * 256 + c) * 256 + d), prefixLength, 32);
/** From the leading groups of the address; the others are zero. */
const six = (prefixLength: number, ...groups: number[]): AddressRange =>
  range(
    groups.reduce((sum, group, index) => sum + (BigInt(group) << BigInt(112 - 16 * index)), 0n),
    prefixLength,
    128,
  );

export const SPECIAL_V4: readonly AddressRange[] = [
  four(0, 0, 0, 0, 8),
  four(10, 0, 0, 0, 8),
  four(100, 64, 0, 0, 10),
  four(127, 0, 0, 0, 8),
  four(168, 63, 129, 16, 32),
  four(169, 254, 0, 0, 16),
  four(172, 16, 0, 0, 12),
  four(192, 0, 0, 0, 24),
  four(192, 0, 2, 0, 24),
  four(192, 31, 196, 0, 24),
  four(192, 52, 193, 0, 24),
  four(192, 88, 99, 0, 24),
  four(192, 168, 0, 0, 16),
  four(192, 175, 48, 0, 24),
  four(198, 18, 0, 0, 15),
  four(198, 51, 100, 0, 24),
  four(203, 0, 113, 0, 24),
  four(224, 0, 0, 0, 4),
  four(240, 0, 0, 0, 4),
  four(255, 255, 255, 255, 32),
];

export const SPECIAL_V6: readonly AddressRange[] = [
  six(128, 0), // unspecified
  six(128, 0, 0, 0, 0, 0, 0, 0, 1), // loopback
  six(96, 0), // IPv4-compatible
  six(96, 0, 0, 0, 0, 0, 0xffff), // IPv4-mapped
  six(96, 0x64, 0xff9b), // NAT64
  six(48, 0x64, 0xff9b, 1), // NAT64 for local use
  six(64, 0x100), // discard
  six(23, 0x2001), // protocol assignments
  six(32, 0x2001, 0), // Teredo
  six(48, 0x2001, 2), // benchmarks
  six(28, 0x2001, 0x20), // ORCHID
  six(32, 0x2001, 0xdb8), // documentation
  six(16, 0x2002), // 6to4
  six(48, 0x2620, 0x4f, 0x8000), // AS112
  six(20, 0x3fff), // documentation
  six(16, 0x5f00), // segment routing
  six(7, 0xfc00), // unique-local
  six(32, 0xfd00, 0xec2), // metadata
  six(10, 0xfe80), // link-local
  six(10, 0xfec0), // site-local
  six(8, 0xff00), // multicast
];

const within = (address: bigint, { first, last }: AddressRange): boolean => address >= first && address <= last;

export const isSpecialV4 = (address: bigint): boolean => SPECIAL_V4.some((network) => within(address, network));

/** Includes unassigned addresses: all that do not begin with the bits 001. */
export const isSpecialV6 = (address: bigint): boolean =>
  address >> 125n !== 1n || SPECIAL_V6.some((network) => within(address, network));

export const addressesV4 = ({ first, last }: AddressRange): fc.Arbitrary<number> =>
  fc.integer({ min: Number(first), max: Number(last) });

export const addressesV6 = ({ first, last }: AddressRange): fc.Arbitrary<bigint> =>
  fc.bigInt({ min: first, max: last });

export const writeV4 = (address: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');

/** All eight groups, without compression. */
export const writeV6 = (address: bigint): string =>
  groupsOf(address)
    .map((group) => group.toString(16))
    .join(':');

/** Spellings that the host of a URL may have (WHATWG URL, the IPv4 parser and the steps before it). */
export function spellingsOfV4(address: number): fc.Arbitrary<string> {
  const notation = fc.constantFrom<(part: number) => string>(
    (part) => `${part}`,
    (part) => `0x${part.toString(16)}`,
    (part) => `0X000${part.toString(16).toUpperCase()}`,
    (part) => (part === 0 ? '00' : `0${part.toString(8)}`),
    (part) => (part === 0 ? '0' : `000${part.toString(8)}`),
  );
  const digits = fc.constantFrom<(text: string) => string>(
    (text) => text,
    (text) => text.replaceAll(/\d/g, (digit) => `%3${digit}`),
    (text) => text.replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    (text) => text.replaceAll('.', '。'),
    (text) => text.replaceAll('.', '%2e'),
  );
  return fc
    .record({
      parts: fc.integer({ min: 1, max: 4 }),
      dot: fc.boolean(),
      digits,
      notations: fc.tuple(notation, notation, notation, notation),
    })
    .map(({ parts, dot, digits, notations }) => {
      // The last part holds all remaining bytes.
      const heads = [24, 16, 8].slice(0, parts - 1).map((shift) => Math.floor(address / 2 ** shift) % 256);
      const tail = address % 2 ** (32 - 8 * (parts - 1));
      const written = [...heads, tail].map((part, index) => (notations[index] ?? String)(part)).join('.');
      return digits(written) + (dot ? '.' : '');
    });
}

/** Spellings of RFC 4291, 2.2, without the brackets. */
export function spellingsOfV6(address: bigint): fc.Arbitrary<string> {
  const groups = groupsOf(address);
  return fc
    .record({ padded: fc.boolean(), upper: fc.boolean(), embedded: fc.boolean(), compressed: fc.boolean() })
    .map(({ padded, upper, embedded, compressed }) => {
      const written = groups.map((group) => group.toString(16).padStart(padded ? 4 : 1, '0'));
      if (embedded) written.splice(6, 2, writeV4(Number(address & 0xffffffffn)));
      const text = compressed ? compress(written) : written.join(':');
      return upper ? text.toUpperCase() : text;
    });
}

const groupsOf = (address: bigint): number[] =>
  [112n, 96n, 80n, 64n, 48n, 32n, 16n, 0n].map((shift) => Number((address >> shift) & 0xffffn));

/** Omits the first run of zeros. */
function compress(groups: readonly string[]): string {
  const isZero = (group: string): boolean => /^0+$/.test(group);
  const start = groups.findIndex(isZero);
  if (start === -1) return groups.join(':');
  const length = groups.slice(start).findIndex((group) => !isZero(group));
  const end = length === -1 ? groups.length : start + length;
  return `${groups.slice(0, start).join(':')}::${groups.slice(end).join(':')}`;
}
