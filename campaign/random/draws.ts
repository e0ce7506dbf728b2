import { createRandom } from '../../test/contract/random.ts';

/** Draws that follow from a seed. Each purpose has draws of its own, so that one does not shift those of another. */
export interface Draws {
  /** From 0 to 1, without 1. */
  fraction(): number;
  /** A whole number from 0 to `below - 1`. */
  below(limit: number): number;
  /** A whole number, both ends included. */
  between(min: number, max: number): number;
  chance(probability: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
  digits(count: number): string;
}

export function createDraws(seed: number, purpose: string): Draws {
  const random = createRandom(seed ^ hash(purpose));
  const below = (limit: number): number => Math.floor(random() * limit);
  return {
    fraction: random,
    below,
    between: (min, max) => min + below(max - min + 1),
    chance: (probability) => random() < probability,
    pick(items) {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error('there is nothing to draw from');
      return item;
    },
    digits: (count) => Array.from({ length: count }, () => below(10)).join(''),
  };
}

/** FNV-1a in 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  return value >>> 0;
}
