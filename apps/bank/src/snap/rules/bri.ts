import { accountNoRule } from '../body-fields.ts';
import { ASPI } from './aspi.ts';
import type { SnapRules } from './rules.ts';

export const BRI: SnapRules = {
  ...ASPI,
  ownBic: 'BRINIDJA',
  paths: {
    ...ASPI.paths,
    // BRI omits the second hyphen.
    '15': '/intrabank/snap/v1.0/account-inquiryinternal',
    '36': '/snap/v1.0/transfer/status',
  },
  ownAccountNo: accountNoRule(1, 15),
};
