/** The accounts that a client has asked about today. */
export interface DailyAccounts {
  /** A new day begins with none. A clock that is set back over midnight does not give the day again. */
  moveTo(day: number): void;
  day(): number;
  has(account: number): boolean;
  add(account: number): void;
  count(): number;
}

/**
 * An account's hash, shortened to 32 bits: a set of small whole numbers takes a fraction of the memory. Of 100,000 accounts two
 * share a number with another, and are not counted.
 */
export function shortened(hash: string): number {
  let number = 0;
  for (let index = 0; index < 8; index += 1) number = (number << 4) | valueOf(hash.charCodeAt(index));
  return number;
}

/** Of a hexadecimal digit, by its character's code: letters have bit 6 set, and begin at 1. */
const valueOf = (code: number): number => (code & 15) + (code >> 6) * 9;

export function createDailyAccounts(): DailyAccounts {
  let today = 0;
  let accounts = new Set<number>();
  return {
    moveTo(day) {
      if (day <= today) return;
      today = day;
      accounts = new Set();
    },
    day: () => today,
    has: (account) => accounts.has(account),
    add: (account) => void accounts.add(account),
    count: () => accounts.size,
  };
}
