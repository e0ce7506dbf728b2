import { createSecretKey } from 'node:crypto';
import type { AccountInquiry, InquiryOutcome, Rail } from '../rail.ts';
import { createSnapAccessTokens, NoToken } from './access-token.ts';
import { accountVerdict, reasonFor } from './account-verdict.ts';
import { createExternalIds } from './external-id.ts';
import { createSnapHttp, NoReply, type SnapReply } from './http.ts';
import { type SnapSettings, snapEndpoints } from './settings.ts';
import { signRequest } from './signature.ts';
import { createSnapClock } from './timestamp.ts';

/** SNAP BI, the Indonesian national standard for open API payments: account inquiries 15 and 16. */
export function createSnapRail(settings: SnapSettings): Rail {
  const endpoints = snapEndpoints(settings.baseUrl);
  const http = createSnapHttp(endpoints.origin);
  const tokens = createSnapAccessTokens(http, endpoints.accessToken, settings);
  const nextExternalId = createExternalIds();
  const now = createSnapClock();
  const hmacKey = createSecretKey(Buffer.from(settings.clientSecret));

  function send(
    path: string,
    body: string,
    accessToken: string,
    externalId: string,
    signal: AbortSignal,
  ): Promise<SnapReply> {
    const timestamp = now();
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${accessToken}`,
      'x-timestamp': timestamp,
      'x-signature': signRequest(hmacKey, { method: 'POST', path, accessToken, body, timestamp }),
      'x-partner-id': settings.partnerId,
      'x-external-id': externalId,
      'channel-id': settings.channelId,
    };
    return http.post(path, headers, body, signal);
  }

  async function inquire({ bank, accountNumber }: AccountInquiry, signal: AbortSignal): Promise<InquiryOutcome> {
    const internal = bank.bic === settings.ownBank;
    const path = internal ? endpoints.accountInquiryInternal : endpoints.accountInquiryExternal;
    const asked = {
      service: internal ? '15' : '16',
      accountNumber: accountNumber.reveal(),
      bankCode: internal ? null : bank.bic,
    };
    const ask = (accessToken: string): Promise<SnapReply> => {
      // A question asked again needs a new X-EXTERNAL-ID: the bank answers 409 to one that it has seen.
      const externalId = nextExternalId();
      const body = JSON.stringify({
        ...(asked.bankCode === null ? {} : { beneficiaryBankCode: asked.bankCode }),
        beneficiaryAccountNo: asked.accountNumber,
        partnerReferenceNo: externalId,
      });
      return send(path, body, accessToken, externalId, signal);
    };

    const accessToken = tokens.current() ?? (await tokens.get(signal));
    let reply = await ask(accessToken);
    if (reply.status === 401) {
      // The bank may have forgotten the token before its time. Once: a second refusal is about something else.
      tokens.discard(accessToken);
      reply = await ask(await tokens.get(signal));
    }
    return accountVerdict(reply.status, reply.body, asked);
  }

  return {
    name: settings.name,
    reaches: (bank) => settings.banks === null || settings.banks.has(bank.bic),
    inquireAccount: (inquiry, signal) => inquire(inquiry, signal).catch((error) => failedInquiry(error, signal)),
    close: () => http.close(),
  };
}

function failedInquiry(error: unknown, signal: AbortSignal): InquiryOutcome {
  if (error instanceof NoReply) {
    const reason = error.reason === 'unreadable' ? 'not_understood' : error.reason;
    return { kind: 'no_verdict', reason, railCode: null };
  }
  if (error instanceof NoToken) {
    return { kind: 'no_verdict', reason: reasonFor({ httpStatus: error.status }), railCode: error.railCode };
  }
  return { kind: 'no_verdict', reason: signal.aborted ? 'timeout' : 'unreachable', railCode: null };
}
