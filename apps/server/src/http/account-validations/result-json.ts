import { setImmediate as nextTurn } from 'node:timers/promises';
import { isAccountStatus } from '../../domain/account.ts';
import type { BankDirectory } from '../../domain/bank.ts';
import type { Language } from '../../lib/bilingual-text.ts';
import { matchHeldName, type NameMatch } from '../../name-match/name-match.ts';
import type { ValidationResult } from '../../postgres/account-validation-results.ts';

/** One result in the shape of the API, with its fields in this order. */
export interface ResultJson {
  readonly sequence: number;
  readonly row: number;
  readonly reference: string | null;
  readonly bank_code: string | null;
  readonly bank_name: string | null;
  readonly account_number: string | null;
  readonly expected_account_name: string | null;
  readonly account_name: string | null;
  readonly is_valid: boolean | null;
  readonly status: string | null;
  readonly name_match: NameMatch | null;
  readonly error_code: string | null;
  readonly message: string | null;
  readonly checked_at: string;
}

/** Some names take milliseconds to compare. A page of them in one turn would delay all other requests for seconds. */
const TURN_MS_MAX = 5;

export type SerializeResults = (
  results: readonly ValidationResult[],
  language: Language,
) => Promise<readonly ResultJson[]>;

/** One turn of the event loop spends a few milliseconds on one response, however many responses are in progress. */
export function createResultSerializer(banks: BankDirectory): SerializeResults {
  let lastTurn = Promise.resolve();

  function turn(): Promise<void> {
    lastTurn = lastTurn.then(() => nextTurn());
    return lastTurn;
  }

  return async (results, language) => {
    const match = createCachedMatch();
    const serialized: ResultJson[] = [];
    let endMs = 0;
    for (const result of results) {
      if (performance.now() >= endMs) {
        await turn();
        endMs = performance.now() + TURN_MS_MAX;
      }
      serialized.push(resultToJson(result, { banks, match, language }));
    }
    return serialized;
  };
}

type Match = (expected: string, held: string | null) => NameMatch;

/** Compares each pair of names once: one account may be in a thousand rows. */
function createCachedMatch(): Match {
  const cache = new Map<string, NameMatch>();
  return (expected, held) => {
    // Names that were sent contain no line breaks.
    const key = `${expected}\n${held ?? ''}`;
    const match = cache.get(key) ?? matchHeldName(expected, held);
    cache.set(key, match);
    return match;
  };
}

interface ResultContext {
  readonly banks: BankDirectory;
  readonly match: Match;
  readonly language: Language;
}

function resultToJson(stored: ValidationResult, { banks, match, language }: ResultContext): ResultJson {
  const { result, expectedAccountName: expected, accountName } = stored;
  const status = isAccountStatus(result) ? result : null;
  return {
    sequence: stored.sequence,
    row: stored.rowNumber,
    reference: stored.reference,
    bank_code: stored.bankCode,
    bank_name: stored.bic === null ? null : (banks.find(stored.bic)?.name ?? null),
    account_number: stored.accountNumber,
    expected_account_name: expected,
    account_name: accountName,
    is_valid: status === null ? null : status === 'ACTIVE',
    status,
    name_match: expected === null || status === null ? null : match(expected, accountName),
    error_code: status === null ? result : null,
    message: stored.message === null ? null : stored.message[language],
    checked_at: stored.checkedAt,
  };
}
