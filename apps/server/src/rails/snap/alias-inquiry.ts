import type { Bank } from '../../domain/bank.ts';
import { type Alias, aliasOf, servesAliases } from '../aliases.ts';
import { type AccountInquiry, type InquiryOutcome, NOT_SUPPORTED } from '../rail.ts';
import { accountVerdict, type SentAccountInquiry, type VerdictRules } from './account-inquiry.ts';
import { fillTemplate } from './additional-info.ts';
import type { SnapExchange, SnapService } from './exchange.ts';
import type { SnapRoute } from './profiles/profile.ts';
import { profileOf, type SnapSettings } from './settings.ts';

interface OutgoingAliasInquiry extends SentAccountInquiry {
  readonly alias: Alias;
}

/** ASPI, `beneficiaryAccountNo`. A longer e-mail address cannot be sent. */
const ALIAS_LENGTH_MAX = 34;

export interface AliasInquiries {
  reaches(directory: Bank): boolean;
  /** Whether the alias can be sent. */
  supports(inquiry: AccountInquiry): boolean;
  /** @throws NoReply, NoAccessToken, or the signal's reason */
  inquire(inquiry: AccountInquiry, signal: AbortSignal): Promise<InquiryOutcome>;
}

const NO_ALIASES: AliasInquiries = {
  reaches: () => false,
  supports: () => false,
  inquire: () => Promise.resolve(NOT_SUPPORTED),
};

/** Inquiries by alias (service 16, over a route to BI-FAST). */
export function createAliasInquiries(settings: SnapSettings, route: SnapRoute, exchange: SnapExchange): AliasInquiries {
  const { aliases = null, choices = {} } = settings;
  if (aliases === null || route.alias === undefined) return NO_ALIASES;
  const { bankCode, additionalInfo } = route.alias;
  const { routeParameters = {} } = choices;
  const { services, codes, sendsPartnerReferenceNo } = profileOf(settings);
  const { path, code } = services.accountInquiryExternal;
  const rules: VerdictRules = { codes, confirmation: route.confirmation };

  const service: SnapService<OutgoingAliasInquiry, InquiryOutcome> = {
    write: ({ alias }, externalId) =>
      JSON.stringify({
        beneficiaryBankCode: bankCode,
        beneficiaryAccountNo: alias.value,
        ...(sendsPartnerReferenceNo ? { partnerReferenceNo: externalId } : {}),
        additionalInfo: fillTemplate(additionalInfo, routeParameters, alias),
      }),
    read: (httpStatus, body, sent, externalId) =>
      accountVerdict(httpStatus, body, sent, rules, sendsPartnerReferenceNo ? externalId : null),
  };

  return {
    reaches: (directory) => servesAliases(directory, settings, aliases),
    supports: ({ accountNumber }) => aliasOf(accountNumber.reveal(), aliases).value.length <= ALIAS_LENGTH_MAX,
    async inquire({ accountNumber }, signal) {
      const alias = aliasOf(accountNumber.reveal(), aliases);
      if (alias.value.length > ALIAS_LENGTH_MAX) return NOT_SUPPORTED;
      const sent = { service: code, accountNumber: alias.value, bankCode: null, isAlias: true, alias } as const;
      return exchange.send(service, path, sent, signal);
    },
  };
}
