import { AccountNumber } from './account.ts';

/**
 * The bank directory finds the bank that a client means by the code it sends.
 *
 * - clearing code: three digits, assigned by Bank Indonesia. A bank and its sharia unit share one.
 * - BIC: the bank's ISO 9362 code. No two institutions share one, so it is the key.
 * - short name: the bank's common name, in capitals and without the word "BANK".
 * - sharia unit: the Islamic banking arm of a conventional bank (unit usaha syariah), not a bank of its own.
 * - e-wallet: electronic money whose accounts are mobile numbers. It is a bank here, without clearing code and BIC.
 * - alias directory: BI-FAST's list of mobile numbers and e-mail addresses that stand for accounts at any bank. It is a
 *   bank here too, because the holder's bank is not known before the alias is resolved.
 */

const bankUnits = ['conventional', 'sharia', 'sharia_unit', 'e_wallet', 'alias_directory'] as const;
export type BankUnit = (typeof bankUnits)[number];

export interface Bank {
  /** Three digits, such as `014`. Shared by a bank and its sharia unit. Null for what is no bank. */
  readonly clearingCode: string | null;
  /** The key: eight characters, such as `CENAIDJA`; the name of what has no BIC: `GOPAY`, `BIFAST`. Unique. */
  readonly bic: string;
  /** The full name, as shown to people. */
  readonly name: string;
  /** In capitals; each belongs to one bank only. */
  readonly shortNames: readonly string[];
  readonly unit: BankUnit;
  /** In digits. Absent unless the bank itself publishes it: other sources on lengths contradict each other. */
  readonly accountNumberLength?: number;
}

/** One bank as `banks.json` writes it. */
export interface BankEntry {
  readonly clearing_code: string | null;
  readonly bic: string;
  readonly name: string;
  readonly short_names: readonly string[];
  readonly unit: string;
  readonly account_number_length?: number;
}

export interface BankDirectory {
  /**
   * The bank with a clearing code, a BIC (8 or 11 characters) or a short name; null if there is none.
   * Letters may be in any case and "Bank" may precede a short name; everything else must match exactly.
   */
  readonly find: (code: string) => Bank | null;
  /** Every bank, in the order of the entries. */
  readonly list: () => readonly Bank[];
}

export const isEWallet = ({ unit }: Pick<Bank, 'unit'>): boolean => unit === 'e_wallet';

export const isAliasDirectory = ({ unit }: Pick<Bank, 'unit'>): boolean => unit === 'alias_directory';

/** A bank with a BIC, and not another thing that `bank_code` may name. */
export const isInstitution = (bank: Pick<Bank, 'unit'>): boolean => !isEWallet(bank) && !isAliasDirectory(bank);

/** The code by which clients name the bank most often. */
export const bankCodeOf = ({ clearingCode, bic }: Bank): string => clearingCode ?? bic;

/** ISO 9362; null for an e-wallet and for the alias directory. */
export const bicOf = (bank: Bank): string | null => (isInstitution(bank) ? bank.bic : null);

/**
 * An account number of this bank: digits, the mobile number of an e-wallet's customer, or an alias. Null for anything
 * else.
 */
export function parseAccountNumber(bank: Bank, value: unknown): AccountNumber | null {
  if (isEWallet(bank)) return AccountNumber.parseMobile(value);
  return isAliasDirectory(bank) ? AccountNumber.parseAlias(value) : AccountNumber.parse(value);
}

/** Upper-casing turns the dotless "ı" into "I" and "ß" into "SS", so text outside ASCII is excluded before it. */
const printableAscii = /^[ -~]+$/;

/** ISO 9362: of eleven characters the first eight identify the bank, and the last three a branch. */
const bicWithBranch = /^[A-Z0-9]{11}$/;
const bicLengthWithoutBranch = 8;

/** Throws when an entry's unit is unknown or when two banks claim the same code, BIC or short name. */
export function createBankDirectory(entries: readonly BankEntry[]): BankDirectory {
  const banks = entries.map(toBank);
  const byBic = indexBanks(banks, (bank) => [bank.bic]);
  const byCode = indexBanks(banks, codesOf);

  return {
    find: (code) => {
      const exact = byCode.get(code);
      if (exact !== undefined) return exact;
      if (!printableAscii.test(code)) return null;
      const capitals = code.toUpperCase();
      // The branch is removed for BICs only: among all codes, SINARMASXXX would find SINARMAS.
      const byBranch = bicWithBranch.test(capitals) ? byBic.get(capitals.slice(0, bicLengthWithoutBranch)) : undefined;
      return byCode.get(capitals) ?? byBranch ?? null;
    },
    list: () => banks,
  };
}

/**
 * The codes that mean this bank, in capitals. A shared clearing code means the conventional bank, so it does not find a
 * sharia unit.
 */
export function codesOf(bank: Bank): readonly string[] {
  if (!isInstitution(bank)) return bank.shortNames;
  const clearingCodes = bank.unit === 'sharia_unit' || bank.clearingCode === null ? [] : [bank.clearingCode];
  const names = bank.shortNames.flatMap((shortName) => [shortName, `BANK ${shortName}`]);
  return [...clearingCodes, bank.bic, ...names];
}

/** A Map, because a plain object would return a value for a client's `__proto__` or `constructor`. */
function indexBanks(banks: readonly Bank[], keysOf: (bank: Bank) => readonly string[]): ReadonlyMap<string, Bank> {
  const index = new Map<string, Bank>();
  for (const bank of banks) {
    for (const key of keysOf(bank)) {
      const other = index.get(key);
      if (other !== undefined) throw new Error(`bank code ${key} is claimed by both ${other.bic} and ${bank.bic}`);
      index.set(key, bank);
    }
  }
  return index;
}

function toBank(entry: BankEntry): Bank {
  const unit = bankUnits.find((known) => known === entry.unit);
  if (unit === undefined) throw new Error(`bank ${entry.bic} has the unknown unit ${entry.unit}`);

  return {
    clearingCode: entry.clearing_code,
    bic: entry.bic,
    name: entry.name,
    shortNames: entry.short_names,
    unit,
    ...(entry.account_number_length !== undefined && { accountNumberLength: entry.account_number_length }),
  };
}
