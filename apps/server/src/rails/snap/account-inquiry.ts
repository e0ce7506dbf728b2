import type { InquiryOutcome } from '../rail.ts';
import { type AskedAccount, accountVerdict } from './account-verdict.ts';
import type { SnapService } from './exchange.ts';

/** Account inquiry (ASPI, services 15 and 16): to the bank itself, or about an account of another bank. */
export const ACCOUNT_INQUIRY: SnapService<AskedAccount, InquiryOutcome> = {
  write: ({ bankCode, accountNumber }, externalId) =>
    JSON.stringify({
      ...(bankCode === null ? {} : { beneficiaryBankCode: bankCode }),
      beneficiaryAccountNo: accountNumber,
      partnerReferenceNo: externalId,
    }),
  read: accountVerdict,
};
