import type { Bank } from '../../../client/src/index.ts';

/** The banks of the service, by what a file calls them. */
export interface BankDirectory {
  /** By each code that the service accepts and, because files have it, by the full name. */
  find(text: string): Bank | null;
}

/** What the service takes as the code of this bank and of no other. */
export const uniqueCodeOf = ({ bic, bank_code: code }: Bank): string => bic ?? code;

const BIC_WITH_BRANCH = /^[A-Z0-9]{8}[A-Z0-9]{3}$/;
const BIC_LENGTH = 8;

export function createBankDirectory(banks: readonly Bank[]): BankDirectory {
  const byCode = new Map<string, Bank>();
  const byBic = new Map<string, Bank>();
  const byName = new Map<string, Bank>();
  const add = (index: Map<string, Bank>, key: string, bank: Bank): void => {
    if (!index.has(key)) index.set(key, bank);
  };
  for (const bank of banks) {
    const { bic, bank_code: code, bank_name: name, short_names: shortNames, type } = bank;
    if (bic !== null) byBic.set(bic, bank);
    // A sharia unit has its bank's clearing code, and stands after it.
    for (const key of [bic ?? code, code, ...shortNames]) add(byCode, key.toUpperCase(), bank);
    if (type === 'BANK') for (const shortName of shortNames) add(byCode, `BANK ${shortName}`, bank);
    add(byName, bareName(name), bank);
  }
  return {
    find(text) {
      const capitals = text.trim().toUpperCase();
      const branch = BIC_WITH_BRANCH.test(capitals) ? byBic.get(capitals.slice(0, BIC_LENGTH)) : undefined;
      return byCode.get(capitals) ?? branch ?? byName.get(bareName(text)) ?? null;
    },
  };
}

/** Full names are written with and without the form of the company. */
const bareName = (name: string): string =>
  name
    .toUpperCase()
    .replaceAll(/\b(?:PT|TBK|PERSERO)\b/g, ' ')
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
