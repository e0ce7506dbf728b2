import { ACMT_03, ACMT_04 } from './acmt/operations.ts';
import type { BankProfile } from './bank-profile.ts';
import { BI_FAST } from './bi-fast/operations.ts';
import type { BankProfileName } from './profile-names.ts';
import { SNAP_PROFILES } from './snap/operations.ts';

export const BANK_PROFILES: Readonly<Record<BankProfileName, BankProfile>> = {
  ...SNAP_PROFILES,
  'acmt-03': ACMT_03,
  'acmt-04': ACMT_04,
  'bi-fast': BI_FAST,
};
