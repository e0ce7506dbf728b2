import { type BankReply, createBankHttp, splitBaseUrl } from '../bank-http.ts';
import { type InquiryFailure, inquiryFailureOf, reasonForHttpStatus } from '../bank-reply.ts';
import { createSnapAccessTokens, NoAccessToken } from './access-token.ts';
import { createExternalIds, createSnapClock } from './message-fields.ts';
import { parseReply } from './reply.ts';
import { profileOf, type SnapSettings } from './settings.ts';
import { createSigner } from './signature.ts';

/** One of SNAP's services: how its request is written, and how the reply is read. */
export interface SnapService<Sent, Outcome> {
  /** Minified JSON. `externalId` is the request's X-EXTERNAL-ID. */
  write(sent: Sent, externalId: string): string;
  /** Never throws: every reply has an outcome, also one that is not understood. */
  read(httpStatus: number, body: string, sent: Sent, externalId: string): Outcome;
}

export interface SnapExchange {
  /** `path` is the service's own, below the bank's address. @throws NoReply, NoAccessToken, or the signal's reason */
  send<Sent, Outcome>(
    service: SnapService<Sent, Outcome>,
    path: string,
    sent: Sent,
    signal: AbortSignal,
  ): Promise<Outcome>;
  close(): Promise<void>;
}

/**
 * Whether a 401 has the case code 00: the signature is wrong or the client unknown (ASPI, "response code"). It would be
 * the same the next time, and a bank may lock out a partner who repeats it.
 */
const rejectsClient = ({ body }: BankReply): boolean => parseReply(body)?.responseCode?.meaning === '401 00';

/**
 * The exchange that all requests to a bank share: access token, signature, headers, and one retry with a new token
 * after a 401.
 */
export function createSnapExchange(settings: SnapSettings): SnapExchange {
  const profile = profileOf(settings);
  const { origin, prefix } = splitBaseUrl(settings.baseUrl);
  const http = createBankHttp(origin, settings.transport);
  const nextExternalId = createExternalIds(Date.now, profile.externalIdDigits);
  const now = createSnapClock(profile.timestamp);
  const tokens = createSnapAccessTokens(http, `${prefix}${profile.services.accessToken.path}`, now, settings);
  const sign = createSigner(profile, settings);
  // An asymmetric signature replaces the token (ASPI, signature type 2).
  const needsToken = profile.signature.kind === 'symmetric';
  const channelId = profile.channelId ?? settings.channelId;
  const originValue = settings.choices?.origin;

  function post(path: string, body: string, externalId: string, accessToken: string | null, signal: AbortSignal) {
    const timestamp = now();
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      'x-timestamp': timestamp,
      'x-signature': sign({ method: 'POST', path, accessToken, body, timestamp }),
      'x-partner-id': settings.partnerId,
      'x-external-id': externalId,
      'channel-id': channelId,
    };
    if (accessToken !== null) headers['authorization'] = `Bearer ${accessToken}`;
    if (originValue !== undefined) headers[profile.originHeader] = originValue;
    return http.post(path, headers, body, signal);
  }

  async function send<Sent, Outcome>(
    service: SnapService<Sent, Outcome>,
    path: string,
    sent: Sent,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const accessToken = needsToken ? (tokens.current() ?? (await tokens.get(signal))) : null;
    let externalId = nextExternalId();
    let reply = await post(path, service.write(sent, externalId), externalId, accessToken, signal);
    if (reply.status === 401 && accessToken !== null) {
      // The bank may have revoked the token early. One retry only: a second 401 has another cause.
      tokens.discard(accessToken);
      if (rejectsClient(reply)) return service.read(reply.status, reply.body, sent, externalId);
      const renewed = await tokens.get(signal);
      // The retry needs a new X-EXTERNAL-ID: the bank replies 409 to one that it has seen.
      externalId = nextExternalId();
      reply = await post(path, service.write(sent, externalId), externalId, renewed, signal);
    }
    return service.read(reply.status, reply.body, sent, externalId);
  }

  return {
    send: (service, path, sent, signal) => send(service, `${prefix}${path}`, sent, signal),
    close: () => http.close(),
  };
}

/** The failure that an error of `SnapExchange.send` stands for. Without a token nothing was sent. */
export function snapInquiryFailureOf(error: unknown, signal: AbortSignal): InquiryFailure {
  if (!(error instanceof NoAccessToken)) return inquiryFailureOf(error, signal);
  return { reason: reasonForHttpStatus(error.status), railCode: error.railCode };
}
