import { findBic } from '../../bank-names.ts';
import { accountNoRule, BANK_CODE, type BodyFields, referenceRule } from '../body-fields.ts';
import { SNAP_CASES } from '../response-codes.ts';
import { ASPI } from './aspi.ts';
import type { InfoRules, RejectedAccount, SnapRules } from './rules.ts';

const SWITCHER = '1';
const BI_FAST = '2';

/** Service 16: every invalid account has one code, and too many requests are an invalid routing. */
const EXTERNAL_REJECTIONS = {
  'not-found': SNAP_CASES.invalidAccount,
  inactive: SNAP_CASES.invalidAccount,
  blocked: SNAP_CASES.invalidAccount,
  unavailable: SNAP_CASES.generalError,
  'too-many-requests': SNAP_CASES.invalidRouting,
} as const satisfies Record<RejectedAccount, unknown>;

const INTERNAL_REJECTIONS = {
  ...EXTERNAL_REJECTIONS,
  inactive: SNAP_CASES.inactiveAccount,
  unavailable: SNAP_CASES.internalServerError,
  'too-many-requests': SNAP_CASES.tooManyRequests,
} as const satisfies Record<RejectedAccount, unknown>;

const INFO: InfoRules = {
  mandatory: true,
  members: (info) => [
    { name: 'inquiryService', mandatory: true, pattern: /^[12]$/ },
    ...(isBiFast(info)
      ? [
          { name: 'sourceAccountNo', mandatory: true, pattern: /^\d{10}$/ },
          { name: 'amount.value', mandatory: true, pattern: /^\d{1,13}\.\d{2}$/ },
          { name: 'amount.currency', mandatory: true, pattern: /^IDR$/ },
          { name: 'purposeCode', mandatory: true, pattern: /^(?:0[1-3]|99)$/ },
        ]
      : []),
  ],
  accountNo: (info) => (info['inquiryService'] === SWITCHER ? accountNoRule(1, 28) : null),
  reply: () => undefined,
};

const isBiFast = (info: BodyFields): boolean => info['inquiryService'] === BI_FAST;

export const BCA: SnapRules = {
  ...ASPI,
  ownBic: 'CENAIDJA',
  paths: {
    '73': '/openapi/v1.0/access-token/b2b',
    '15': '/openapi/v1.0/account-inquiry-internal',
    '16': '/openapi/v2.0/account-inquiry-external',
    '17': '/openapi/v1.0/transfer-intrabank',
    '18': '/openapi/v1.0/transfer-interbank',
    '36': '/openapi/v1.0/transfer/status',
  },
  channelId: '95051',
  partnerIdLengthMax: 10,
  externalId: /^\d{1,32}$/,
  bankCode: {
    ...BANK_CODE,
    // A clearing code is accepted only for a bank that has no BIC.
    pattern: { test: (code) => /^[A-Z0-9]{8}$/.test(code) || (/^\d{3}$/.test(code) && findBic(code) === null) },
  },
  ownAccountNo: accountNoRule(10, 10),
  partnerReferenceNo: referenceRule('partnerReferenceNo', true),
  info: INFO,
  rejections: { '15': INTERNAL_REJECTIONS, '16': EXTERNAL_REJECTIONS },
  statusInquiry: [
    { name: 'originalExternalId', mandatory: true, pattern: /^\d{1,32}$/ },
    { name: 'transactionDate', mandatory: true, pattern: /./ },
  ],
};
