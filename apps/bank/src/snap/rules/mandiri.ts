import { BANK_CODE, type BodyFields } from '../body-fields.ts';
import { SNAP_CASES } from '../response-codes.ts';
import { ASPI, REJECTIONS } from './aspi.ts';
import type { InfoRules, SnapRules } from './rules.ts';

/** The switcher is PRIMA unless another one is named. */
const INFO: InfoRules = {
  mandatory: false,
  members: (info) => [
    { name: 'switcher', mandatory: false, pattern: /^(?:PRIMA|ATMB|BIFAST)$/ },
    ...(isBiFast(info)
      ? [
          // 2 inquires by proxy, which this bank does not simulate.
          { name: 'inquiryType', mandatory: true, pattern: /^1$/ },
          { name: 'categoryPurpose', mandatory: true, pattern: /^.{1,35}$/su },
        ]
      : []),
  ],
  accountNo: () => null,
  reply: (info) => (isBiFast(info) ? { responseStatus: 'ACTC', responseReason: 'BFSTU000' } : undefined),
};

const isBiFast = (info: BodyFields): boolean => info['switcher'] === 'BIFAST';

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
