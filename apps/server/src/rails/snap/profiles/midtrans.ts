import { ASPI } from './aspi.ts';
import type { SnapProfile } from './profile.ts';

/**
 * Midtrans (docs.midtrans.com, and its own client for Node), a payment provider: it has no accounts of its own, so
 * neither service 15 nor 17.
 *
 * Its codes mean the same as ASPI's: 403 09 dormant, 403 18 closed, 404 11 not found. Unknown, and therefore ASPI's:
 * the lengths of its headers, and the bank's code in a reply.
 */
export const MIDTRANS: SnapProfile = {
  ...ASPI,
  services: { ...ASPI.services, accountInquiryInternal: null, transferIntrabank: null },
  // "3 digit BI code + 4 digit BI branch code".
  bankCode: { sent: 'clearing_and_branch', echoed: 'clearing_and_branch' },
  timestamp: 'utc_milliseconds',
  // "Wait 10 minutes before" the first one.
  firstStatusInquiryMs: 10 * 60_000,
  routes: { direct: { accountDigitsMax: 20, additionalInfo: null, confirmation: null } },
};
