import { distance } from 'fastest-levenshtein';
import { token_set_ratio } from 'fuzzball';
// @ts-expect-error -- the package has no types
import untypedJaroWinkler from 'jaro-winkler';
import { matchNames, type NameMatchResult } from '../../apps/server/src/name-match/name-match.ts';
import type { Pair } from './pairs.ts';

/** A general measure of the similarity of two texts, 0 to 1. */
export interface Peer {
  readonly name: string;
  readonly similarity: (expected: string, held: string) => number;
}

const jaroWinkler = untypedJaroWinkler as (one: string, other: string) => number;

/** Each gets upper-case names, as its users would pass them. */
export const PEERS: readonly Peer[] = [
  {
    name: 'Jaro-Winkler',
    similarity: (expected, held) => jaroWinkler(expected.toUpperCase(), held.toUpperCase()),
  },
  {
    name: 'Levenshtein ratio',
    similarity(expected, held) {
      const longest = Math.max(expected.length, held.length);
      return longest === 0 ? 1 : 1 - distance(expected.toUpperCase(), held.toUpperCase()) / longest;
    },
  },
  {
    name: 'Token-set ratio',
    similarity: (expected, held) => token_set_ratio(expected.toUpperCase(), held.toUpperCase()) / 100,
  },
];

export const resultsOf = (pairs: readonly Pair[]): NameMatchResult[] =>
  pairs.map(({ expected, held }) => matchNames(expected, held).result);

export const similaritiesOf = (peer: Peer, pairs: readonly Pair[]): number[] =>
  pairs.map(({ expected, held }) => peer.similarity(expected, held));
