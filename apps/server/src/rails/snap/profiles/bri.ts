import { ASPI } from './aspi.ts';
import type { SnapProfile } from './profile.ts';

/**
 * BRI (developers.bri.co.id).
 *
 * Unknown, and therefore ASPI's: the paths of the token, of service 16 and of the transfers, which an operator may replace; the
 * lengths of its headers; its codes. Base64 is what its production takes, while some of its sandboxes want hexadecimal.
 * 15 digits are printed as the length of an account, without a word on shorter ones. It answers no service 36 while it ends
 * its day.
 */
export const BRI: SnapProfile = {
  ...ASPI,
  services: {
    ...ASPI.services,
    // Spelt as printed, without the second dash.
    accountInquiryInternal: {
      path: '/intrabank/snap/v1.0/account-inquiryinternal',
      code: '15',
      accountDigits: { min: 1, max: 15 },
    },
    transferStatus: { path: '/snap/v1.0/transfer/status', code: '36' },
  },
};
