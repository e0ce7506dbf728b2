import { BANK_CODE, BENEFICIARY_ACCOUNT_NO, referenceRule } from '../body-fields.ts';
import { SNAP_CASES } from '../response-codes.ts';
import type { InfoRules, RejectedAccount, SnapRules } from './rules.ts';

/** The only requirement is that it is an object. */
const ANY_INFO: InfoRules = { mandatory: false, members: () => [], accountNo: () => null, reply: () => undefined };

export const REJECTIONS = {
  'not-found': SNAP_CASES.invalidAccount,
  inactive: SNAP_CASES.inactiveAccount,
  blocked: SNAP_CASES.doNotHonor,
  unavailable: SNAP_CASES.externalServerError,
  'too-many-requests': SNAP_CASES.tooManyRequests,
} as const satisfies Record<RejectedAccount, unknown>;

/** SNAP BI, the standard (by ASPI), with BCA's own accounts. */
export const ASPI: SnapRules = {
  ownBic: 'CENAIDJA',
  paths: {
    '73': '/v1.0/access-token/b2b',
    '15': '/v1.0/account-inquiry-internal',
    '16': '/v1.0/account-inquiry-external',
    '17': '/v1.0/transfer-intrabank',
    '18': '/v1.0/transfer-interbank',
    '36': '/v1.0/transfer/status',
    '37': '/v1.0/emoney/account-inquiry',
  },
  channelId: null,
  partnerIdLengthMax: 36,
  externalId: /^\d{1,36}$/,
  timestamp: 'any-zone',
  bankCode: BANK_CODE,
  readBankCode: (bankCode) => bankCode,
  ownAccountNo: BENEFICIARY_ACCOUNT_NO,
  otherAccountNo: BENEFICIARY_ACCOUNT_NO,
  partnerReferenceNo: referenceRule('partnerReferenceNo'),
  info: ANY_INFO,
  rejections: { '15': REJECTIONS, '16': REJECTIONS },
  statusInquiry: [],
};
