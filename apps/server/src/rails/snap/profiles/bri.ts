import { ASPI } from './aspi.ts';
import type { SnapProfile } from './profile.ts';

/**
 * BRI (developers.bri.co.id).
 *
 * Unknown, and therefore ASPI's: the paths of the token, of service 16 and of the transfers, which an operator may
 * replace; the lengths of its headers; its codes. Its production accepts base64, while some of its sandboxes require
 * hexadecimal. The documented length of an account number is 15 digits; shorter ones are not mentioned. Service 36 is
 * unavailable during its end-of-day processing.
 */
export const BRI: SnapProfile = {
  ...ASPI,
  services: {
    ...ASPI.services,
    // Spelled as documented, without the second dash.
    accountInquiryInternal: {
      path: '/intrabank/snap/v1.0/account-inquiryinternal',
      code: '15',
      accountDigits: { min: 1, max: 15 },
    },
    transferStatus: { path: '/snap/v1.0/transfer/status', code: '36' },
  },
};
