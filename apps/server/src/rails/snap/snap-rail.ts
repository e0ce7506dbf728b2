import type { AccountInquiry, InquiryOutcome, Rail, TransferInquiry, TransferOutcome } from '../rail.ts';
import { ACCOUNT_INQUIRY } from './account-inquiry.ts';
import type { AskedAccount } from './account-verdict.ts';
import { createSnapExchange } from './exchange.ts';
import { noSnapAnswerAfter } from './no-answer.ts';
import { type SnapSettings, snapEndpoints } from './settings.ts';
import { type AskedTransfer, TRANSFER_STATUS } from './transfer-status.ts';

/**
 * SNAP BI, the Indonesian national standard for open API payments: account inquiries (services 15 and 16) and the status
 * of transfers (36).
 */
export function createSnapRail(settings: SnapSettings): Rail {
  const endpoints = snapEndpoints(settings.baseUrl);
  const exchange = createSnapExchange(settings, endpoints);

  function inquireAccount({ bank, accountNumber }: AccountInquiry, signal: AbortSignal): Promise<InquiryOutcome> {
    const internal = bank.bic === settings.ownBank;
    const path = internal ? endpoints.accountInquiryInternal : endpoints.accountInquiryExternal;
    const asked: AskedAccount = {
      service: internal ? '15' : '16',
      accountNumber: accountNumber.reveal(),
      bankCode: internal ? null : bank.bic,
    };
    return exchange
      .ask(ACCOUNT_INQUIRY, path, asked, signal)
      .catch((error: unknown) => ({ kind: 'no_verdict', ...noSnapAnswerAfter(error, signal) }));
  }

  function inquireTransfer(inquiry: TransferInquiry, signal: AbortSignal): Promise<TransferOutcome> {
    const asked: AskedTransfer = {
      reference: inquiry.reference,
      service: inquiry.bank !== null && inquiry.bank.bic === settings.ownBank ? '17' : '18',
      amount: inquiry.amount,
      currency: inquiry.currency,
      createdAt: inquiry.createdAt,
      accountNumber: inquiry.accountNumber.reveal(),
    };
    return exchange
      .ask(TRANSFER_STATUS, endpoints.transferStatus, asked, signal)
      .catch((error: unknown) => ({ kind: 'no_word', ...noSnapAnswerAfter(error, signal) }));
  }

  return {
    name: settings.name,
    reaches: (bank) => settings.banks === null || settings.banks.has(bank.bic),
    inquireAccount,
    inquireTransfer,
    close: () => exchange.close(),
  };
}
