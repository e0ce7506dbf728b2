import { splitBaseUrl } from '../bank-http.ts';
import { isServed } from '../protocol.ts';
import type { AccountInquiry, InquiryOutcome, Rail, StatusInquiry, StatusInquiryOutcome } from '../rail.ts';
import { accountEnquiry, accountVerdict, type SentAccountInquiry } from './account-enquiry.ts';
import { createBiFastExchange } from './exchange.ts';
import { paymentOutcome, paymentStatusRequest, type SentStatusInquiry } from './payment-status.ts';
import type { BiFastSettings } from './settings.ts';

/**
 * BI-FAST, Bank Indonesia's retail payment system, in the form of its participants: ISO 20022 messages as JSON, each
 * answered in the same exchange. docs/bi-fast.md says what of it is verified.
 */
export function createBiFastRail(settings: BiFastSettings): Rail {
  const { origin, prefix } = splitBaseUrl(settings.baseUrl);
  const pathTo = (path: string): string => `${prefix}${path}` || '/';
  const enquiryPath = pathTo(settings.accountEnquiryPath);
  const statusPath = pathTo(settings.paymentStatusPath);
  const exchange = createBiFastExchange(settings, origin);

  async function inquireAccount(inquiry: AccountInquiry, signal: AbortSignal): Promise<InquiryOutcome> {
    const asked: SentAccountInquiry = { bic: inquiry.bank.bic, accountNumber: inquiry.accountNumber.reveal() };
    const reported = await exchange.send(accountEnquiry(enquiryPath, settings, asked), signal);
    if (reported.kind === 'no_answer') return { kind: 'no_verdict', ...reported.noAnswer };
    return accountVerdict(reported.report, asked, reported.sent);
  }

  async function inquireStatus(inquiry: StatusInquiry, signal: AbortSignal): Promise<StatusInquiryOutcome> {
    const { reference, amount, currency } = inquiry;
    const asked: SentStatusInquiry = { reference, amount, currency, accountNumber: inquiry.accountNumber.reveal() };
    const reported = await exchange.send(paymentStatusRequest(statusPath, asked), signal);
    if (reported.kind === 'no_answer') return { kind: 'no_status', ...reported.noAnswer };
    return paymentOutcome(reported.report, asked);
  }

  return {
    name: settings.name,
    reaches: (bank) => isServed(bank, settings),
    inquireAccount,
    inquireStatus,
    close: () => exchange.close(),
  };
}
