import type { Account } from './read-rows.ts';

/** A range of the accounts, which one bulk validation checks. */
export interface Part {
  /** Index of the first account. */
  readonly first: number;
  readonly count: number;
}

export interface PartLimits {
  readonly accountsMax: number;
  readonly bytesMax: number;
}

/**
 * What one upload may have (docs/account-validations.md, "Limits"). A service or a proxy that takes less says so with
 * 413, and the part is halved.
 */
export const UPLOAD_LIMITS: PartLimits = { accountsMax: 50_000, bytesMax: 15 * 1024 * 1024 };

/** Of the fields' names and the quotation marks of one account in JSON. */
const FIELD_BYTES = 80;

/** Divides the accounts into uploads. Those with the same bank and number stay together: their bank is asked once. */
export function divideAccounts(accounts: readonly Account[], { accountsMax, bytesMax }: PartLimits): Part[] {
  const parts: Part[] = [];
  let first = 0;
  let bytes = 0;
  let groupStart = 0;
  let groupBytes = 0;
  for (const [index, account] of accounts.entries()) {
    if (!isSameNumber(accounts[index - 1], account)) {
      groupStart = index;
      groupBytes = 0;
    }
    const size = FIELD_BYTES + bytesOf(account);
    const isFull = index - first === accountsMax || bytes + size > bytesMax;
    if (isFull && index > first) {
      // The accounts of this number that came before move to the next part, unless they fill a part of their own.
      const cut = groupStart > first ? groupStart : index;
      parts.push({ first, count: cut - first });
      first = cut;
      bytes = cut === index ? 0 : groupBytes;
    }
    bytes += size;
    groupBytes += size;
  }
  if (accounts.length > first) parts.push({ first, count: accounts.length - first });
  return parts;
}

const isSameNumber = (one: Account | undefined, other: Account): boolean =>
  one?.bank_code === other.bank_code && one.account_number === other.account_number;

const bytesOf = ({ bank_code: bank, account_number: number, expected_account_name: name = '' }: Account): number =>
  Buffer.byteLength(bank) + Buffer.byteLength(number) + Buffer.byteLength(JSON.stringify(name));

/** Two halves of a part that was too large. */
export function halve({ first, count }: Part): [Part, Part] {
  const half = Math.ceil(count / 2);
  return [
    { first, count: half },
    { first: first + half, count: count - half },
  ];
}
