/**
 * The accounts that a client has checked today, by their short hashes, and for which of them no verdict has come yet: a
 * check may end without one. A check that this process has not seen (`restore`) counts, and waits for no verdict.
 */
export interface DailyAccounts {
  /**
   * Starts a new day, with no accounts. False when that day has started before: a clock that is set back over midnight
   * does not start the day again.
   */
  moveTo(day: number): boolean;
  day(): number;
  has(account: number): boolean;
  add(account: number): void;
  restore(account: number): void;
  /** True once for each account that was added. */
  isFirstVerdict(account: number): boolean;
  count(): number;
}

/**
 * The first 32 bits of an account's hash. A set of small integers takes a fraction of the memory of a set of strings.
 * Of 100,000 accounts about two share a short hash with another one and are not counted.
 */
export function shortHash(hash: string): number {
  let number = 0;
  for (let index = 0; index < 8; index += 1) number = (number << 4) | digitValue(hash.charCodeAt(index));
  return number;
}

/** The value of a hexadecimal digit by its character code: letters have bit 6 set, and their low bits start at 1. */
const digitValue = (code: number): number => (code & 15) + (code >> 6) * 9;

export function createDailyAccounts(): DailyAccounts {
  let today = 0;
  let accounts = new Set<number>();
  const withoutVerdict = new Set<number>();
  return {
    moveTo(day) {
      if (day <= today) return false;
      today = day;
      accounts = new Set();
      withoutVerdict.clear();
      return true;
    },
    day: () => today,
    has: (account) => accounts.has(account),
    add(account) {
      accounts.add(account);
      withoutVerdict.add(account);
    },
    restore: (account) => void accounts.add(account),
    isFirstVerdict: (account) => withoutVerdict.delete(account),
    count: () => accounts.size,
  };
}
