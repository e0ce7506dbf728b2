import type { InquiryOutcome } from '../rail.ts';
import { accountVerdict, type SentAccountInquiry, type VerdictRules } from './account-verdict.ts';
import { fillTemplate } from './additional-info.ts';
import type { SnapService } from './exchange.ts';
import type { SnapProfile, SnapRoute } from './profiles/profile.ts';

/** A question about an account, with the bank's code as it is sent: null to the bank itself. */
export interface OutgoingAccountInquiry extends SentAccountInquiry {
  readonly bankCodeSent: string | null;
}

/**
 * Account inquiry (ASPI, services 15 and 16): to the bank itself, where `route` is null, or about an account of another
 * bank. `parameters` are those of the route; throws when one is missing.
 */
export function createAccountInquiry(
  profile: SnapProfile,
  route: SnapRoute | null,
  parameters: Readonly<Record<string, string>>,
): SnapService<OutgoingAccountInquiry, InquiryOutcome> {
  const { sendsPartnerReferenceNo } = profile;
  const template = route?.additionalInfo ?? null;
  const info = template === null ? '' : `,"additionalInfo":${JSON.stringify(fillTemplate(template, parameters))}`;
  const rules: VerdictRules = { codes: profile.codes, confirmation: route?.confirmation ?? null };

  return {
    write({ bankCodeSent, accountNumber }, externalId) {
      // Digits and capitals, all of them: there is nothing to escape.
      const bank = bankCodeSent === null ? '' : `"beneficiaryBankCode":"${bankCodeSent}",`;
      const reference = sendsPartnerReferenceNo ? `,"partnerReferenceNo":"${externalId}"` : '';
      return `{${bank}"beneficiaryAccountNo":"${accountNumber}"${reference}${info}}`;
    },
    read: (httpStatus, body, asked, externalId) =>
      accountVerdict(httpStatus, body, asked, rules, sendsPartnerReferenceNo ? externalId : null),
  };
}
