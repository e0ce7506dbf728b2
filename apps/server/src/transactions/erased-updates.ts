import { createEraser, ERASED, erasedTermsOf } from '../domain/eraser.ts';
import type { StatusUpdate, Transaction } from '../domain/transaction.ts';

/** Where `person erase` replaces numbers and names. */
const ERASABLE_FIELDS = [
  'accountNumber',
  'accountName',
  'description',
] as const satisfies readonly (keyof Transaction)[];

/**
 * The update without what was erased from its transaction. The core still knows the person, and sends a full record
 * with a reversal: it must neither contradict the erased transaction nor bring the person back. So it is with an update
 * that is stored with the transaction because it has the same reference ID.
 */
export function eraseReceived<Received extends { readonly update: StatusUpdate; readonly raw: string }>(
  known: Transaction,
  received: Received,
): Received {
  if (!isErased(known)) return received;
  const terms: string[] = [];
  const update: { -readonly [Field in keyof StatusUpdate]: StatusUpdate[Field] } = { ...received.update };
  for (const field of ERASABLE_FIELDS) {
    const value = update[field];
    const own = value === undefined ? null : erasedTermsOf(known[field], value);
    if (own === null) continue;
    terms.push(...own);
    update[field] = known[field];
  }
  if (terms.length === 0) return received;
  const { eraseText, eraseJson } = createEraser(terms);
  if (typeof update.failureReason === 'string') update.failureReason = eraseText(update.failureReason);
  return { ...received, update, raw: eraseJson(received.raw) };
}

/** A feed asks this of each line, so it names the fields instead of walking through their list. */
const isErased = ({ accountNumber, accountName, description }: Transaction): boolean =>
  accountNumber.includes(ERASED) || accountName.includes(ERASED) || description.includes(ERASED);
