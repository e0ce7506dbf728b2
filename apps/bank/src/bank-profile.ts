import type { BankResponse } from './answer.ts';
import type { Bank } from './bank.ts';
import type { BankRequest } from './request.ts';

export interface Operation {
  /** `'no-response'` leaves the client waiting. */
  readonly handle: (bank: Bank, request: BankRequest) => BankResponse | 'no-response';
  /** The refusal of a body that is longer than this bank reads. */
  readonly bodyTooLong: BankResponse;
}

/** What the bank speaks, and how. */
export interface BankProfile {
  /** What is asked for at a path (without query), always by POST. */
  readonly findOperation: (path: string) => Operation | undefined;
  readonly unknownRoute: BankResponse;
}
