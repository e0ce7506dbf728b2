import { createBankHttp, splitBaseUrl } from '../bank-http.ts';
import { createSnapAccessTokens } from './access-token.ts';
import { createExternalIds } from './external-id.ts';
import { profileOf, type SnapSettings } from './settings.ts';
import { createSigner } from './signature.ts';
import { createSnapClock } from './timestamp.ts';

/** One of SNAP's services: how a question is put, and what the reply to it means. */
export interface SnapService<Asked, Answer> {
  /** Minified JSON. `externalId` is the X-EXTERNAL-ID that it goes out with. */
  write(asked: Asked, externalId: string): string;
  /** Total: whatever the bank sends is an answer, if only that it was not understood. `externalId` is the question's. */
  read(httpStatus: number, body: string, asked: Asked, externalId: string): Answer;
}

export interface SnapExchange {
  /** `path` is the service's own, below the bank's address. @throws NoReply, NoToken, or the signal's reason */
  send<Asked, Answer>(
    service: SnapService<Asked, Answer>,
    path: string,
    asked: Asked,
    signal: AbortSignal,
  ): Promise<Answer>;
  close(): Promise<void>;
}

/** What every question to a bank has in common: access token, signature, headers, and asking once more after a 401. */
export function createSnapExchange(settings: SnapSettings): SnapExchange {
  const profile = profileOf(settings);
  const { origin, prefix } = splitBaseUrl(settings.baseUrl);
  const http = createBankHttp(origin, settings.transport);
  const nextExternalId = createExternalIds(Date.now, profile.externalIdDigits);
  const now = createSnapClock(profile.timestamp);
  const tokens = createSnapAccessTokens(http, `${prefix}${profile.services.accessToken.path}`, now, settings);
  const sign = createSigner(profile, settings);
  // An asymmetric signature stands for the token, too (ASPI, signature type 2).
  const needsToken = profile.signature.kind === 'symmetric';
  const channelId = profile.channelId ?? settings.channelId;
  const originValue = settings.choices?.origin;

  function send(path: string, body: string, externalId: string, accessToken: string | null, signal: AbortSignal) {
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

  async function ask<Asked, Answer>(
    service: SnapService<Asked, Answer>,
    path: string,
    asked: Asked,
    signal: AbortSignal,
  ): Promise<Answer> {
    const accessToken = needsToken ? (tokens.current() ?? (await tokens.get(signal))) : null;
    let externalId = nextExternalId();
    let reply = await send(path, service.write(asked, externalId), externalId, accessToken, signal);
    if (reply.status === 401 && accessToken !== null) {
      // The bank may have forgotten the token before its time. Once: a second refusal is about something else.
      tokens.discard(accessToken);
      const renewed = await tokens.get(signal);
      // A question asked again needs a new X-EXTERNAL-ID: the bank answers 409 to one that it has seen.
      externalId = nextExternalId();
      reply = await send(path, service.write(asked, externalId), externalId, renewed, signal);
    }
    return service.read(reply.status, reply.body, asked, externalId);
  }

  return {
    send: (service, path, asked, signal) => ask(service, `${prefix}${path}`, asked, signal),
    close: () => http.close(),
  };
}
