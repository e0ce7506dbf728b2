import { createBankHttp, splitBaseUrl } from '../bank-http.ts';
import { inquiryFailureOf } from '../http-failure.ts';
import { isServed } from '../protocol.ts';
import type { AccountInquiry, InquiryOutcome, Rail } from '../rail.ts';
import { accountVerdict } from './account-verdict.ts';
import { createMessageIds } from './message-ids.ts';
import type { AcmtSettings } from './settings.ts';
import { type SentAccountInquiry, writeRequest } from './write-request.ts';

const HEADERS = { 'content-type': 'application/xml; charset=utf-8', accept: 'application/xml' };

/**
 * ISO 20022 account verification, for schemes such as Nexus and EthSwitch: a request (acmt.023) is answered by a report
 * (acmt.024) in the same HTTP exchange. It cannot be asked about transfers.
 */
export function createAcmtRail(settings: AcmtSettings): Rail {
  const { origin, prefix } = splitBaseUrl(settings.baseUrl);
  const path = `${prefix}${settings.path}`;
  const http = createBankHttp(origin, settings.transport);
  const nextMessageId = createMessageIds(settings.agentBic);

  async function inquireAccount({ bank, accountNumber }: AccountInquiry, signal: AbortSignal): Promise<InquiryOutcome> {
    const createdAt = new Date();
    const messageId = nextMessageId(createdAt);
    const asked: SentAccountInquiry = {
      messageId,
      // Another id than the message's: a report that takes one for the other is not understood.
      verificationId: `${messageId}V1`,
      createdAt,
      accountNumber: accountNumber.reveal(),
      bankBic: bank.bic,
    };
    try {
      return accountVerdict(await http.post(path, HEADERS, writeRequest(settings, asked), signal), settings, asked);
    } catch (error) {
      return { kind: 'no_verdict', ...inquiryFailureOf(error, signal) };
    }
  }

  return {
    name: settings.name,
    reaches: (bank) => isServed(bank, settings),
    inquireAccount,
    close: () => http.close(),
  };
}
