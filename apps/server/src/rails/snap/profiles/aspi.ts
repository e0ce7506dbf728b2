import type { SnapProfile } from './profile.ts';

/**
 * The standard (ASPI's developer site, 2025), version 1.0 of every service.
 *
 * What it does not define:
 * - the form of the bank's code: only its length (11; 8 in older text) and a sample, a clearing code, are given. This
 *   profile uses the BIC, which a bank does not share with its sharia unit;
 * - the encoding of signatures: this profile uses base64, as banks print it, although ASPI's samples are hexadecimal;
 * - the bank's code in a reply: this profile expects the code of the request.
 */
export const ASPI: SnapProfile = {
  services: {
    accessToken: { path: '/v1.0/access-token/b2b' }, // service 73
    accountInquiryInternal: {
      path: '/v1.0/account-inquiry-internal',
      code: '15',
      accountDigits: { min: 1, max: 34 },
    },
    accountInquiryExternal: { path: '/v1.0/account-inquiry-external', code: '16' },
    transferIntrabank: { path: '/v1.0/transfer-intrabank', code: '17' },
    transferInterbank: { path: '/v1.0/transfer-interbank', code: '18' },
    transferStatus: { path: '/v1.0/transfer/status', code: '36' },
  },
  bankCode: { sent: 'bic', echoed: 'bic' },
  channelId: null,
  partnerIdLengthMax: 36,
  // The header may have 36 digits, but services 75 and 76 repeat at most 19.
  externalIdDigits: 19,
  originHeader: 'origin',
  // Type 1, with a token, is the standard's default ("keamanan").
  signature: { kind: 'symmetric', encoding: 'base64' },
  // `yyyy-MM-ddTHH:mm:ssTZD`, 25 characters.
  timestamp: 'jakarta',
  // Optional, 64 characters.
  sendsPartnerReferenceNo: true,
  routes: { direct: { accountDigitsMax: 34, additionalInfo: null, confirmation: null } },
  codes: {},
  // 404 11 invalid account; 403 09 dormant and 403 18 inactive account.
  distinguishesClosed: true,
  statusInquiryNeedsExternalId: false,
  firstStatusInquiryMs: null,
};
