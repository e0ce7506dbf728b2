import type { Answer } from './answer.ts';
import type { Bank } from './bank.ts';
import type { BankRequest } from './request.ts';

export interface Operation {
  /** `'never'` leaves the client waiting. */
  readonly answer: (bank: Bank, request: BankRequest) => Answer | 'never';
  /** The refusal of a body that is longer than this bank reads. */
  readonly tooLong: Answer;
}

/** What the bank speaks, and how. */
export interface BankProfile {
  /** What is asked for at a path (without query), always by POST. */
  readonly findOperation: (path: string) => Operation | undefined;
  readonly unknownRoute: Answer;
}
