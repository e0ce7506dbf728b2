/** docs/contract.md 3.2. */
export const ACCOUNT_STATUSES = ['ACTIVE', 'INACTIVE', 'NOT_FOUND', 'BLOCKED'] as const;
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number];

export const isAccountStatus = (text: string): text is AccountStatus =>
  (ACCOUNT_STATUSES as readonly string[]).includes(text);

/** The result of an account inquiry. Only an active account has a name. */
export type Verdict =
  | { readonly status: 'ACTIVE'; readonly accountName: string }
  | { readonly status: Exclude<AccountStatus, 'ACTIVE'> };

/** The account holder's name; null unless the account is active. */
export const accountNameOf = (verdict: Verdict): string | null =>
  verdict.status === 'ACTIVE' ? verdict.accountName : null;

const ACCOUNT_NUMBER = /^[0-9]{5,34}$/;
const STARS = '*'.repeat(34);

/** Prints masked when it is logged or serialized by accident: only `reveal` returns the digits. */
export class AccountNumber {
  readonly #digits: string;

  private constructor(digits: string) {
    this.#digits = digits;
  }

  /** 5 to 34 ASCII digits; null for anything else. Leading zeros matter, so a JSON number is invalid. */
  static parse(value: unknown): AccountNumber | null {
    return typeof value === 'string' && ACCOUNT_NUMBER.test(value) ? new AccountNumber(value) : null;
  }

  reveal(): string {
    return this.#digits;
  }

  get length(): number {
    return this.#digits.length;
  }

  /** Shows the last four digits at most, and never more than half of the number. */
  toString(): string {
    const shown = Math.min(4, Math.floor(this.#digits.length / 2));
    return STARS.slice(0, this.#digits.length - shown) + this.#digits.slice(-shown);
  }

  toJSON(): string {
    return this.toString();
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}
