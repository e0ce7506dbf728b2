// A bank in this process that notifies a real HTTP listener.

import { createHash, createHmac } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { BankSettings } from '../../apps/bank/src/settings.ts';
import { type HttpReceiver, type ReceivedRequest, startHttpReceiver } from '../support/http-receiver.ts';
import { createClock, startBankWithPartner } from './partner.ts';
import { advanceClock } from './transfers.ts';

export const START = '2026-11-21T10:30:24+07:00';

/** The HTTP status of the response, or null to send no response. */
export type Reaction = (notification: ReceivedRequest) => number | null;

export interface NotificationReceiver extends HttpReceiver {
  readonly notifyUrl: URL;
  /** `latestTransactionStatus` of all notifications of a transfer so far, in the order of arrival. */
  statusesOf(partnerReferenceNo: string): unknown[];
}

/** A partner's HTTP receiver for the bank's notifications. It closes with the test. */
export async function startNotificationReceiver(
  context: TestContext,
  react: Reaction = () => 200,
): Promise<NotificationReceiver> {
  const receiver = await startHttpReceiver({
    context,
    respond(response, notification) {
      const status = react(notification);
      if (status !== null) response.writeHead(status, { Location: '/elsewhere' }).end('{"responseCode":"2007600"}');
    },
  });
  return Object.assign(receiver, {
    notifyUrl: new URL(`${receiver.url}/notify/transfers?from=bank`),
    statusesOf: (partnerReferenceNo: string) =>
      receiver.requests
        .map(fieldsOf)
        .filter((fields) => fields['originalPartnerReferenceNo'] === partnerReferenceNo)
        .map((fields) => fields['latestTransactionStatus']),
  });
}

/** The body of a notification. */
export const fieldsOf = ({ body }: ReceivedRequest): Readonly<Record<string, unknown>> => JSON.parse(body);

/** Whether a notification has the documented signature: symmetric, with an empty access token. */
export function isSigned({ method, path, headers, body }: ReceivedRequest, { clientSecret }: BankSettings): boolean {
  const bodyHash = createHash('sha256').update(body).digest('hex');
  const signed = [method, path, '', bodyHash, headers['x-timestamp']].join(':');
  return createHmac('sha512', clientSecret).update(signed).digest('base64') === headers['x-signature'];
}

/** Unless `now` is given, the bank's real time stands still: only `advance` moves the clock of transfers. */
export async function setUp(context: TestContext, options: { react?: Reaction; now?: () => number } = {}) {
  const receiver = await startNotificationReceiver(context, options.react);
  const { bank, partner, close } = await startBankWithPartner(options.now ?? createClock(START).now, {
    notifyUrl: receiver.notifyUrl,
  });
  context.after(() => close());
  await partner.authorize();
  return { receiver, partner, bank, advance: (seconds: number) => advanceClock(bank.baseUrl, seconds) };
}
