import { isAliasDirectory } from '../../domain/bank.ts';
import { aliasOf, servesAliases } from '../aliases.ts';
import { splitBaseUrl } from '../bank-http.ts';
import { isServed } from '../protocol.ts';
import {
  type AccountInquiry,
  type InquiryOutcome,
  NOT_SUPPORTED,
  type Rail,
  type StatusInquiry,
  type StatusInquiryOutcome,
} from '../rail.ts';
import { accountEnquiry, accountVerdict, type SentAccountInquiry } from './account-inquiry.ts';
import { createBiFastExchange } from './exchange.ts';
import type { BiFastSettings } from './settings.ts';
import { paymentOutcome, paymentStatusRequest, type SentStatusInquiry } from './transfer-status.ts';

/**
 * BI-FAST, Bank Indonesia's retail payment system, as its participants use it: ISO 20022 messages as JSON, with each
 * report in the same HTTP exchange. docs/bi-fast.md says which parts are verified.
 */
export function createBiFastRail(settings: BiFastSettings): Rail {
  const { origin, prefix } = splitBaseUrl(settings.baseUrl);
  const pathTo = (path: string): string => `${prefix}${path}` || '/';
  const enquiryPath = pathTo(settings.accountEnquiryPath);
  const statusPath = pathTo(settings.paymentStatusPath);
  const exchange = createBiFastExchange(settings, origin);

  async function inquireAccount(inquiry: AccountInquiry, signal: AbortSignal): Promise<InquiryOutcome> {
    const sent = sentInquiry(inquiry);
    if (sent === null) return NOT_SUPPORTED;
    const reply = await exchange.send(accountEnquiry(enquiryPath, settings, sent), signal);
    if (reply.kind === 'failure') return { kind: 'no_verdict', ...reply.failure };
    return accountVerdict(reply.report, sent, reply.head);
  }

  /** Null for an alias where aliases were not agreed on. */
  function sentInquiry({ bank, accountNumber }: AccountInquiry): SentAccountInquiry | null {
    const held = accountNumber.reveal();
    if (!isAliasDirectory(bank)) return { bic: bank.bic, accountNumber: held };
    return settings.aliases === null ? null : { held, alias: aliasOf(held, settings.aliases) };
  }

  async function inquireStatus(inquiry: StatusInquiry, signal: AbortSignal): Promise<StatusInquiryOutcome> {
    const { reference, amount, currency } = inquiry;
    const sent: SentStatusInquiry = { reference, amount, currency, accountNumber: inquiry.accountNumber.reveal() };
    const reply = await exchange.send(paymentStatusRequest(statusPath, sent), signal);
    if (reply.kind === 'failure') return { kind: 'no_status', ...reply.failure };
    return paymentOutcome(reply.report, sent);
  }

  return {
    name: settings.name,
    reaches: (bank) => isServed(bank, settings) || servesAliases(bank, settings, settings.aliases),
    inquireAccount,
    inquireStatus,
    close: () => exchange.close(),
  };
}
