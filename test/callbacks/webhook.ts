import type { TestContext } from 'node:test';
import { Webhook } from 'standardwebhooks';
import type { ReceivedRequest } from '../support/http-receiver.ts';
import { type HttpReceiver, type Respond, respondWith, startHttpReceiver } from '../support/http-receiver.ts';

export interface CallbackReceiver extends HttpReceiver {
  /** The URL to register. Its query must not appear in a log. */
  readonly callbackUrl: string;
}

/** A client's receiver of callbacks, which closes with the test. */
export async function startCallbackReceiver(
  context: TestContext,
  respond: Respond = respondWith(200, 'thank you'),
): Promise<CallbackReceiver> {
  const receiver = await startHttpReceiver({ context, respond });
  return Object.assign(receiver, { callbackUrl: `${receiver.url}/callbacks?key=KEPT-OUT-OF-LOGS` });
}

/** The header webhook-id: the ID of the event that the callback is about. */
export const webhookId = ({ headers }: Pick<ReceivedRequest, 'headers'>): string => String(headers['webhook-id']);

/** The body of a callback, read with the library of Standard Webhooks. @throws when no signature is valid. */
export const verified = (secret: string, { headers, body }: ReceivedRequest): Record<string, unknown> =>
  new Webhook(secret).verify(body, headers as Record<string, string>) as Record<string, unknown>;
