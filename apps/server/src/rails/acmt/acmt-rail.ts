import { createBankHttp, splitBaseUrl } from '../bank-http.ts';
import { inquiryFailureOf } from '../bank-reply.ts';
import { isServed } from '../protocol.ts';
import type { AccountInquiry, InquiryOutcome, Rail } from '../rail.ts';
import { accountVerdict, createMessageIds, writeRequest } from './account-inquiry.ts';
import type { SentAccountInquiry } from './read-report.ts';
import type { AcmtSettings } from './settings.ts';

const HEADERS = { 'content-type': 'application/xml; charset=utf-8', accept: 'application/xml' };

/**
 * ISO 20022 account verification, for schemes such as Nexus and EthSwitch: the reply to a request (acmt.023) is a
 * report (acmt.024), in the same HTTP exchange. There is no status inquiry.
 */
export function createAcmtRail(settings: AcmtSettings): Rail {
  const { origin, prefix } = splitBaseUrl(settings.baseUrl);
  const path = `${prefix}${settings.path}`;
  const http = createBankHttp(origin, settings.transport);
  const nextMessageId = createMessageIds(settings.agentBic);

  async function inquireAccount({ bank, accountNumber }: AccountInquiry, signal: AbortSignal): Promise<InquiryOutcome> {
    const createdAt = new Date();
    const messageId = nextMessageId(createdAt);
    const sent: SentAccountInquiry = {
      messageId,
      // Not the message's id: a report that confuses the two is not believed.
      verificationId: `${messageId}V1`,
      createdAt,
      accountNumber: accountNumber.reveal(),
      bankBic: bank.bic,
    };
    try {
      return accountVerdict(await http.post(path, HEADERS, writeRequest(settings, sent), signal), settings, sent);
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
