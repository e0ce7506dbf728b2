import { ASPI } from './aspi.ts';
import type { SnapProfile } from './profile.ts';

/**
 * BCA (developer.bca.co.id, March 2025).
 *
 * Unknown, and therefore ASPI's: the paths of services 17, 18 and 36 below BCA's `/openapi`; the bank's code in a
 * reply; the header for the origin. Service 36 is documented only with the statuses 00, 03 and 06, and only for 31
 * days. BCA has letters in some service codes (`200US00`), but not in those of account inquiries.
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
  // The BIC; a clearing code only for a bank without a BIC, and every bank in the directory has one.
  bankCode: { sent: 'bic', echoed: 'bic' },
  channelId: '95051',
  partnerIdLengthMax: 10,
  externalIdDigits: 32,
  // Mandatory here. The transfer that follows must have the same one, so the operator's core makes its own inquiry for
  // it.
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
  // "Invalid Routing" is BCA's code for an exceeded limit. It does not say which limit.
  codes: { '16 404 02': 'throttled' },
  // 15 has 403 18 besides 404 11. 16 has only 404 11, for "does not exist", "closed" and "cannot be used".
  distinguishesClosed: false,
  statusInquiryNeedsExternalId: true,
};
