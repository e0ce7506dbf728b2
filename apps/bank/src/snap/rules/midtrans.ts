import { findBic } from '../../bank-names.ts';
import { accountNoRule, BANK_CODE } from '../body-fields.ts';
import { ASPI } from './aspi.ts';
import type { SnapRules } from './rules.ts';

const { '15': _, '17': __, ...PATHS } = ASPI.paths;

/** Midtrans is a payment provider: it has no accounts of its own. */
export const MIDTRANS: SnapRules = {
  ...ASPI,
  ownBic: null,
  paths: PATHS,
  timestamp: 'utc-with-milliseconds',
  // Three digits of the bank and four of its branch.
  bankCode: { ...BANK_CODE, pattern: /^\d{7}$/ },
  readBankCode: findBic,
  otherAccountNo: accountNoRule(1, 20),
};
