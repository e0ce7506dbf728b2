import type { NameMatchResult } from '../../apps/server/src/name-match/name-match.ts';
import { chooseThresholds, type Figures, figuresOf } from './figures.ts';
import { PEERS, type Peer, resultsOf, similaritiesOf } from './matchers.ts';
import { type Pair, readHeldOutPairs, readPairs } from './pairs.ts';

export const PRECISION_MIN = 0.99;

/** Tiba's figures on a set of pairs: `MATCH` alone, and `MATCH` or `CLOSE_MATCH`. */
export interface OwnFigures {
  readonly pairs: readonly Pair[];
  readonly match: Figures;
  readonly matchOrClose: Figures;
}

/** A peer at one threshold, on the pairs by kind and on the held-out pairs. */
export interface PeerAtThreshold {
  readonly threshold: number;
  readonly figures: Figures;
  readonly heldOut: Figures;
}

export interface PeerFigures {
  readonly peer: Peer;
  readonly bestF1: PeerAtThreshold;
  readonly balanced: PeerAtThreshold;
  /** Null if no threshold reaches `PRECISION_MIN`. */
  readonly precise: PeerAtThreshold | null;
  /** At the balanced threshold. */
  readonly byKind: ReadonlyMap<string, Figures>;
}

export interface Evaluation {
  readonly own: OwnFigures;
  readonly ownByKind: ReadonlyMap<string, OwnFigures>;
  readonly ownHeldOut: OwnFigures;
  readonly peers: readonly PeerFigures[];
}

/**
 * Peers' thresholds are chosen on the pairs by kind, on which the peers are then measured. That favors the peers. The
 * same thresholds are used for the held-out pairs.
 */
export function evaluate(): Evaluation {
  const pairs = readPairs();
  const heldOut = readHeldOutPairs();
  const kinds = [...new Set(pairs.map(({ kind }) => kind))];
  const ofKind = new Map(kinds.map((kind) => [kind, pairs.filter((pair) => pair.kind === kind)]));
  return {
    own: ownFigures(pairs),
    ownByKind: new Map([...ofKind].map(([kind, subset]) => [kind, ownFigures(subset)])),
    ownHeldOut: ownFigures(heldOut),
    peers: PEERS.map((peer) => peerFigures(peer, pairs, heldOut, ofKind)),
  };
}

function ownFigures(pairs: readonly Pair[]): OwnFigures {
  const results = resultsOf(pairs);
  const figuresFor = (...wanted: NameMatchResult[]) =>
    figuresOf(pairs, (index) => wanted.some((result) => result === results[index]));
  return { pairs, match: figuresFor('MATCH'), matchOrClose: figuresFor('MATCH', 'CLOSE_MATCH') };
}

function peerFigures(
  peer: Peer,
  pairs: readonly Pair[],
  heldOut: readonly Pair[],
  ofKind: ReadonlyMap<string, readonly Pair[]>,
): PeerFigures {
  const thresholds = chooseThresholds(pairs, similaritiesOf(peer, pairs), PRECISION_MIN);
  const figuresAt = (threshold: number, subset: readonly Pair[]) => {
    const similarities = similaritiesOf(peer, subset);
    return figuresOf(subset, (index) => (similarities[index] ?? 0) >= threshold);
  };
  const at = (threshold: number): PeerAtThreshold => ({
    threshold,
    figures: figuresAt(threshold, pairs),
    heldOut: figuresAt(threshold, heldOut),
  });
  return {
    peer,
    bestF1: at(thresholds.bestF1),
    balanced: at(thresholds.balanced),
    precise: thresholds.precise === null ? null : at(thresholds.precise),
    byKind: new Map([...ofKind].map(([kind, subset]) => [kind, figuresAt(thresholds.balanced, subset)])),
  };
}
