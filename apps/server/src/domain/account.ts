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
/** An Indonesian mobile number: 0, 62 or +62, and the subscriber number, which begins with 8. */
const MOBILE_NUMBER = /^(?:0|\+?62)(8[0-9]{7,11})$/;

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

  /**
   * A mobile number, which is the account number of an e-wallet. `0812…`, `62812…` and `+62812…` are the same account:
   * it is held as `0812…`. Null for anything else.
   */
  static parseMobile(value: unknown): AccountNumber | null {
    const subscriber = typeof value === 'string' ? MOBILE_NUMBER.exec(value)?.[1] : undefined;
    return subscriber === undefined ? null : new AccountNumber(`0${subscriber}`);
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
