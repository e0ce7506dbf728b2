import { ASPI } from './aspi.ts';
import type { SnapProfile } from './profile.ts';

/**
 * Mandiri (its published External Account Inquiry).
 *
 * Unknown, and therefore ASPI's: the version in its paths, and everything but service 16. The form of `categoryPurpose` is
 * unknown too, so that any text is taken. Where in the reply `responseStatus` stands is not printed: it is looked for in
 * the reply itself and in its `additionalInfo`.
 */
export const MANDIRI: SnapProfile = {
  ...ASPI,
  partnerIdLengthMax: 16,
  externalIdDigits: 19,
  routes: {
    prima: { accountDigitsMax: 34, additionalInfo: { switcher: 'PRIMA' }, confirmation: null },
    atmb: { accountDigitsMax: 34, additionalInfo: { switcher: 'ATMB' }, confirmation: null },
    bifast: {
      accountDigitsMax: 34,
      additionalInfo: {
        switcher: 'BIFAST',
        inquiryType: '1', // by account, and not by proxy
        categoryPurpose: { parameter: 'category_purpose', pattern: /^.{1,35}$/u },
      },
      // ACTC or RJCT.
      confirmation: { field: 'responseStatus', value: 'ACTC' },
    },
  },
  // Of the codes printed for service 16, 404 11 ("not found") is the only one about the account.
  distinguishesClosed: false,
};
