import { ASPI } from './aspi.ts';
import type { SnapProfile } from './profile.ts';

/**
 * BCA (developer.bca.co.id, March 2025).
 *
 * Unknown, and therefore ASPI's: the paths of services 17, 18 and 36 below BCA's `/openapi`; what a reply echoes as the bank's
 * code; which header carries the origin. Service 36 is documented with the statuses 00, 03 and 06 alone, and for 31 days.
 * Letters in service codes (`200US00`) occur at BCA, but not in those of account inquiries.
 */
export const BCA: SnapProfile = {
  ...ASPI,
  services: {
    accessToken: { path: '/openapi/v1.0/access-token/b2b' },
    accountInquiryInternal: {
      path: '/openapi/v1.0/account-inquiry-internal',
      code: '15',
      accountDigits: { min: 10, max: 10 },
    },
    accountInquiryExternal: { path: '/openapi/v2.0/account-inquiry-external', code: '16' },
    transferIntrabank: { path: '/openapi/v1.0/transfer-intrabank', code: '17' },
    transferInterbank: { path: '/openapi/v1.0/transfer-interbank', code: '18' },
    transferStatus: { path: '/openapi/v1.0/transfer/status', code: '36' },
  },
  // The BIC; a clearing code only for a bank that has none, and all in the directory have one.
  bankCode: { sent: 'bic', echoed: 'bic' },
  channelId: '95051',
  partnerIdLengthMax: 10,
  externalIdDigits: 32,
  // Mandatory here, and the transfer that follows must have the same: an operator's core makes its own inquiry for it.
  sendsPartnerReferenceNo: true,
  routes: {
    switcher: { accountDigitsMax: 28, additionalInfo: { inquiryService: '1' }, confirmation: null },
    bifast: {
      accountDigitsMax: 34,
      additionalInfo: {
        inquiryService: '2',
        sourceAccountNo: { parameter: 'source_account_no', pattern: /^\d{10}$/ },
        amount: { value: { parameter: 'amount', pattern: /^\d{1,13}\.\d{2}$/ }, currency: 'IDR' },
        purposeCode: { parameter: 'purpose_code', pattern: /^(?:01|02|03|99)$/ },
      },
      confirmation: null,
    },
  },
  // "Invalid Routing" is what BCA says when a limit is exceeded; which one, it does not say.
  codes: { '16 404 02': 'throttled' },
  // 15 has 403 18 beside 404 11. 16 has 404 11 alone, which "does not exist", "closed" and "cannot be used" all are.
  distinguishesClosed: false,
  statusInquiryNeedsExternalId: true,
};
