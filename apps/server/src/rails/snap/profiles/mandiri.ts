import { ASPI } from './aspi.ts';
import type { SnapProfile } from './profile.ts';

const CATEGORY_PURPOSE = { parameter: 'category_purpose', pattern: /^.{1,35}$/u };

/**
 * Mandiri (its published External Account Inquiry).
 *
 * Unknown, and therefore ASPI's: the version in its paths, and everything except service 16. The form of
 * `categoryPurpose` is unknown too, so any text is accepted. The place of `responseStatus` in the reply is not
 * documented: it is read from the reply itself and from its `additionalInfo`. For an inquiry by alias, the form of
 * `debtorAccount` is not documented, nor what the two mandatory fields of SNAP contain.
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
        categoryPurpose: CATEGORY_PURPOSE,
      },
      // ACTC or RJCT.
      confirmation: { field: 'responseStatus', value: 'ACTC' },
      alias: {
        bankCode: 'FASTIDJA', // the BI-FAST hub
        additionalInfo: {
          switcher: 'BIFAST',
          inquiryType: '2', // by proxy
          categoryPurpose: CATEGORY_PURPOSE,
          debtorAccount: { parameter: 'debtor_account', pattern: /^\d{1,34}$/ },
          lookUpType: 'PXRS', // proxy resolution
          aliasType: { ofAlias: 'type' },
          aliasValue: { ofAlias: 'value' },
        },
      },
    },
  },
  // Of the codes documented for service 16, only 404 11 ("not found") is about the account.
  distinguishesClosed: false,
};
