import type { Verdict } from '../../domain/account.ts';
import { isPlainText } from '../../domain/identifiers.ts';
import { matchNames, type NameMatch } from '../../domain/name-match/name-match.ts';
import { NAME_LENGTH_MAX } from '../../domain/name-match/words.ts';
import { ApiError } from '../errors.ts';

/** `expected_account_name` of a request; null where the client asks for no comparison. @throws ApiError INVALID_FORMAT */
export function expectedName(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' && value.trim() !== '' && isPlainText(value, NAME_LENGTH_MAX)) return value;
  throw new ApiError('INVALID_FORMAT', {
    message: `Invalid format: expected_account_name must be a name of 1 to ${NAME_LENGTH_MAX} characters, none of them a control character`,
  });
}

const NO_NAME: NameMatch = { result: 'NOT_POSSIBLE', score: 0, reasons: ['NO_NAME'] };

/** Banks tell the holder's name of active accounts only. */
export const nameMatchOf = (expected: string, verdict: Verdict): NameMatch =>
  verdict.status === 'ACTIVE' ? matchNames(expected, verdict.accountName) : NO_NAME;
