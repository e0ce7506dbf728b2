import { isAlias } from '../../accounts.ts';
import { BANK_CODE, BENEFICIARY_ACCOUNT_NO, type BodyFields, textField } from '../body-fields.ts';
import { SNAP_CASES } from '../response-codes.ts';
import { ASPI, REJECTIONS } from './aspi.ts';
import type { InfoRules, SnapRules } from './rules.ts';

const isBiFast = (info: BodyFields): boolean => info['switcher'] === 'BIFAST';
// 2 inquires by proxy: by an alias of BI-FAST.
const isByAlias = (info: BodyFields): boolean => isBiFast(info) && info['inquiryType'] === '2';

/** The switcher is PRIMA unless another one is named. */
const INFO: InfoRules = {
  mandatory: false,
  members: (info) => [
    { name: 'switcher', mandatory: false, pattern: /^(?:PRIMA|ATMB|BIFAST)$/ },
    ...(isBiFast(info)
      ? [
          { name: 'inquiryType', mandatory: true, pattern: /^[12]$/ },
          { name: 'categoryPurpose', mandatory: true, pattern: /^.{1,35}$/su },
        ]
      : []),
    ...(isByAlias(info)
      ? [
          { name: 'debtorAccount', mandatory: true, pattern: /^\d{1,34}$/ },
          { name: 'lookUpType', mandatory: true, pattern: /^PXRS$/ },
          { name: 'aliasType', mandatory: true, pattern: /^0[12]$/ },
          {
            name: 'aliasValue',
            mandatory: true,
            pattern: { test: (value: string) => isAlias(textField(info, 'aliasType'), value) },
          },
        ]
      : []),
  ],
  // By alias, the account number is the alias.
  accountNo: (info) =>
    isByAlias(info)
      ? { ...BENEFICIARY_ACCOUNT_NO, pattern: { test: (value) => value === textField(info, 'aliasValue') } }
      : null,
  isByAlias,
  reply: (info) => (isBiFast(info) ? { responseStatus: 'ACTC', responseReason: 'BFSTU000' } : undefined),
};

export const MANDIRI: SnapRules = {
  ...ASPI,
  ownBic: 'BMRIIDJA',
  partnerIdLengthMax: 16,
  externalId: /^\d{1,19}$/,
  bankCode: { ...BANK_CODE, pattern: /^(?:\d{3}|[A-Z]{6}[A-Z0-9]{2})$/ },
  info: INFO,
  // For service 16 no other code about an account is published.
  rejections: {
    '15': REJECTIONS,
    '16': { ...REJECTIONS, inactive: SNAP_CASES.invalidAccount, blocked: SNAP_CASES.invalidAccount },
  },
};
