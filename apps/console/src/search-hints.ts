import { findUnread } from './search-text.ts';

/** Why a search may have found nothing, by what was searched. Pure. */

export type Hint = 'whole' | 'amount' | 'filters' | 'unread' | 'names';

export interface Hints {
  readonly hints: readonly Hint[];
  /** The word that was not understood. */
  readonly word: string;
}

const NAME = /^\p{L}[\p{L}.'’-]+$/u;
/** More digits are an account, fewer are rather the end of one. */
const MAYBE_AMOUNT = /^(?:rp\.?|idr)|^\d{1,3}(?:[.,]\d{3})+|^\d{5,9}$|,-$/i;

/** `parameters` are those of the search. */
export function hintsFor(parameters: Readonly<Partial<Record<string, string>>>, now: Date): Hints {
  const { q, amount, account_number: account, day, created_from: from, created_to: to, ...others } = parameters;
  const hasTime = (day ?? from ?? to) !== undefined;
  const count = Object.keys(parameters).length;
  const word = q === undefined ? null : findUnread(q, now);
  const isAmount = q === undefined ? amount !== undefined && account === undefined : MAYBE_AMOUNT.test(q);
  if (word !== null) return { hints: ['unread', ...nameHint(word)], word };
  const isIdentified = q !== undefined || account !== undefined || (count === 1 && 'request_id' in others);
  return {
    hints: [
      ...(count > 1 ? (['filters'] as const) : isIdentified ? (['whole'] as const) : []),
      ...(isAmount && !hasTime ? (['amount'] as const) : []),
      ...nameHint(q ?? ''),
    ],
    word: '',
  };
}

const nameHint = (word: string): readonly Hint[] => (NAME.test(word) ? ['names'] : []);
