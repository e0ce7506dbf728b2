import { ASPI } from './aspi.ts';
import type { SnapProfile } from './profile.ts';

/**
 * Mandiri (its published External Account Inquiry).
 *
 * Unknown, and therefore ASPI's: the version in its paths, and everything except service 16. The form of
 * `categoryPurpose` is unknown too, so any text is accepted. The place of `responseStatus` in the reply is not
 * documented: it is read from the reply itself and from its `additionalInfo`.
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
        inquiryType: '1', // by account, not by proxy
        categoryPurpose: { parameter: 'category_purpose', pattern: /^.{1,35}$/u },
      },
      // ACTC or RJCT.
      confirmation: { field: 'responseStatus', value: 'ACTC' },
    },
  },
  // Of the codes documented for service 16, only 404 11 ("not found") is about the account.
  distinguishesClosed: false,
};
