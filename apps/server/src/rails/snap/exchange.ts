import { createSecretKey } from 'node:crypto';
import { type BankReply, createBankHttp } from '../bank-http.ts';
import { createSnapAccessTokens } from './access-token.ts';
import { createExternalIds } from './external-id.ts';
import type { SnapEndpoints, SnapSettings } from './settings.ts';
import { signRequest } from './signature.ts';
import { createSnapClock } from './timestamp.ts';

/** One of SNAP's services: how a question is put, and what the reply to it means. */
export interface SnapService<Asked, Answer> {
  /** Minified JSON. `externalId` is the X-EXTERNAL-ID that it goes out with. */
  write(asked: Asked, externalId: string): string;
  /** Total: whatever the bank sends is an answer, if only that it was not understood. */
  read(httpStatus: number, body: string, asked: Asked): Answer;
}

export interface SnapExchange {
  /** @throws NoReply, NoToken, or the signal's reason */
  ask<Asked, Answer>(
    service: SnapService<Asked, Answer>,
    path: string,
    asked: Asked,
    signal: AbortSignal,
  ): Promise<Answer>;
  close(): Promise<void>;
}

/** What every question to a bank has in common: access token, signature, headers, and asking once more after a 401. */
export function createSnapExchange(settings: SnapSettings, endpoints: SnapEndpoints): SnapExchange {
  const http = createBankHttp(endpoints.origin);
  const tokens = createSnapAccessTokens(http, endpoints.accessToken, settings);
  const nextExternalId = createExternalIds();
  const now = createSnapClock();
  const hmacKey = createSecretKey(Buffer.from(settings.clientSecret));

  function send<Asked>(
    service: SnapService<Asked, unknown>,
    path: string,
    asked: Asked,
    accessToken: string,
    signal: AbortSignal,
  ): Promise<BankReply> {
    // A question asked again needs a new X-EXTERNAL-ID: the bank answers 409 to one that it has seen.
    const externalId = nextExternalId();
    const body = service.write(asked, externalId);
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

  return {
    async ask(service, path, asked, signal) {
      const accessToken = tokens.current() ?? (await tokens.get(signal));
      let reply = await send(service, path, asked, accessToken, signal);
      if (reply.status === 401) {
        // The bank may have forgotten the token before its time. Once: a second refusal is about something else.
        tokens.discard(accessToken);
        reply = await send(service, path, asked, await tokens.get(signal), signal);
      }
      return service.read(reply.status, reply.body, asked);
    },
    close: () => http.close(),
  };
}
