import { randomUUID } from 'node:crypto';
import { createBankHttp, splitBaseUrl } from '../bank-http.ts';
import { inquiryFailureOf } from '../bank-reply.ts';
import { isServed } from '../protocol.ts';
import type { AccountInquiry, InquiryOutcome, Rail } from '../rail.ts';
import {
  ACCOUNT_INQUIRY_PATH,
  accountVerdict,
  type SentAccountInquiry,
  writeAccountInquiry,
} from './account-inquiry.ts';
import type { TemplateSettings } from './settings.ts';

/**
 * Yours: the protocol, the banks that use it, and the document it is from. This is the rail to copy, and no bank uses
 * it: JSON over HTTP with an API key, account inquiries only (docs/adding-a-rail.md).
 */
export function createTemplateRail(settings: TemplateSettings): Rail {
  const { origin, prefix } = splitBaseUrl(settings.baseUrl);
  const http = createBankHttp(origin, settings.transport);
  const path = `${prefix}${ACCOUNT_INQUIRY_PATH}`;
  // Yours: the headers that all requests share. Make those that differ, such as a signature, in inquireAccount.
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    authorization: `Bearer ${settings.apiKey}`,
  };

  async function inquireAccount({ bank, accountNumber }: AccountInquiry, signal: AbortSignal): Promise<InquiryOutcome> {
    // Yours: the code by which this bank knows the other (a clearing code may mean two: domain/bank.ts), and an id in
    // its form.
    const sent: SentAccountInquiry = {
      requestId: randomUUID(),
      bankBic: bank.bic,
      accountNumber: accountNumber.reveal(),
    };
    try {
      return accountVerdict(await http.post(path, headers, writeAccountInquiry(sent), signal), sent);
    } catch (error) {
      return { kind: 'no_verdict', ...inquiryFailureOf(error, signal) };
    }
  }

  return {
    name: settings.name,
    // Yours: true only if the bank's codes distinguish a closed account from one that never existed.
    distinguishesClosed: true,
    // Yours: leave out the banks for which the protocol has no code.
    reaches: (bank) => isServed(bank, settings),
    inquireAccount,
    close: () => http.close(),
  };
}
