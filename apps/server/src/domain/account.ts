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

/** An e-mail address in ASCII (RFC 5321, section 4.1.2: a dot-string and a domain of at least two labels). */
const LOCAL_PART = String.raw`[\w!#$%&'*+/=?^\x60{|}~-]+`;
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const EMAIL_ADDRESS = new RegExp(`^(?=.{1,64}@)${LOCAL_PART}(?:\\.${LOCAL_PART})*@(?:${LABEL}\\.)+${LABEL}$`, 'i');
/** RFC 5321, section 4.5.3.1.3, without the angle brackets. */
const EMAIL_LENGTH_MAX = 254;

/** At most this many: the length of a longer e-mail address is hidden. */
const STARS = '*'.repeat(34);

/**
 * The number of a bank account, or what stands for one: the mobile number of an e-wallet's customer, an alias. Prints
 * masked when it is logged or serialized by accident: only `reveal` returns it.
 */
export class AccountNumber {
  readonly #text: string;

  private constructor(text: string) {
    this.#text = text;
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

  /**
   * A mobile number, as in `parseMobile`, or an e-mail address. Letters in any case are the same alias: it is held in
   * lower case. Null for anything else.
   */
  static parseAlias(value: unknown): AccountNumber | null {
    if (typeof value !== 'string' || value.length > EMAIL_LENGTH_MAX || !EMAIL_ADDRESS.test(value)) {
      return AccountNumber.parseMobile(value);
    }
    return new AccountNumber(value.toLowerCase());
  }

  reveal(): string {
    return this.#text;
  }

  get length(): number {
    return this.#text.length;
  }

  /** Shows the last four characters at most, and never more than half of them. */
  toString(): string {
    const shown = Math.min(4, Math.floor(this.#text.length / 2));
    return STARS.slice(0, this.#text.length - shown) + this.#text.slice(-shown);
  }

  toJSON(): string {
    return this.toString();
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

/**
 * A holder's name with the first letter of each word only, as some banks print it: `B*** S******`. A word of one letter
 * is hidden.
 */
export const maskName = (name: string): string => name.replaceAll(/(?<=\S)\S|(?<!\S)\S(?!\S)/gu, '*');
