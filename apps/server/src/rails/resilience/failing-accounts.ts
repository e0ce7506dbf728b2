/** The accounts that a bank failed over last, one for each to count once. */
export interface FailingAccounts {
  /** Whether it was not among them yet. */
  add(account: string): boolean;
  clear(): void;
}

/** More than the failures in a row that close the way to a bank (`failuresInARow`): fewer accounts, in whatever order, never do. */
const SUSPECTS_MAX = 8;

export function createFailingAccounts(): FailingAccounts {
  /** The latest last. */
  const accounts = new Set<string>();
  return {
    add(account) {
      const isNew = !accounts.delete(account);
      accounts.add(account);
      const [oldest = account] = accounts;
      if (accounts.size > SUSPECTS_MAX) accounts.delete(oldest);
      return isNew;
    },
    clear: () => accounts.clear(),
  };
}
