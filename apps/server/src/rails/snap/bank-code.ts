import type { Bank } from '../../domain/bank.ts';
import headOffices from './profiles/head-offices.json' with { type: 'json' };
import type { BankCodeForm } from './profiles/profile.ts';

/** Four digits of the head office's branch by BIC (Bank Indonesia's "sandi bank"; source: docs/banks.md). */
const HEAD_OFFICES: ReadonlyMap<string, string> = new Map(Object.entries(headOffices));

/** A bank's code in this form; null when it has none that means this bank alone. */
export function bankCodeOf(form: BankCodeForm, bank: Bank): string | null {
  switch (form) {
    case 'bic':
      return bank.bic;
    case 'clearing_code':
      // A sharia unit shares its bank's: with it, the bank's accounts would be asked about.
      return bank.unit === 'sharia_unit' ? null : bank.clearingCode;
    case 'clearing_and_branch': {
      const branch = HEAD_OFFICES.get(bank.bic);
      return branch === undefined ? null : `${bank.clearingCode}${branch}`;
    }
  }
}
