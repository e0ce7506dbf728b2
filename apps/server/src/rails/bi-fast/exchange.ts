import { type BankReply, createBankHttp } from '../bank-http.ts';
import { type InquiryFailure, inquiryFailureOf, reasonForHttpStatus } from '../bank-reply.ts';
import { createSerials, type HubRequest, type Message, type MessageHead, writeMessage } from './message.ts';
import type { BiFastSettings } from './settings.ts';
import { parseReport, type StatusReport } from './status-report.ts';

/** `head` is that of the message on which the hub reports. */
export type HubReply =
  | { readonly kind: 'report'; readonly report: StatusReport; readonly head: MessageHead }
  | { readonly kind: 'failure'; readonly failure: InquiryFailure };

export interface BiFastExchange {
  /** Never rejects. */
  send(request: HubRequest, signal: AbortSignal): Promise<HubReply>;
  close(): Promise<void>;
}

const HEADERS = { 'content-type': 'application/json', accept: 'application/json' };
const DUPLICATE = 'U149';

/**
 * The exchange that all requests to the hub share: identifiers, one POST, and one retry when the identifiers were used.
 */
export function createBiFastExchange(settings: BiFastSettings, origin: string): BiFastExchange {
  const http = createBankHttp(origin, settings.transport);
  const serials = createSerials();

  async function post(request: HubRequest, signal: AbortSignal): Promise<HubReply> {
    const message = writeMessage(request, settings, { atMs: Date.now(), serial: serials.next() });
    return readReply(await http.post(request.path, HEADERS, message.body, signal), message, settings.bic);
  }

  async function send(request: HubRequest, signal: AbortSignal): Promise<HubReply> {
    const first = await post(request, signal);
    if (first.kind !== 'report' || first.report.reason !== DUPLICATE) return first;
    // Another process of this participant has used these identifiers. The request changes nothing, so it may be
    // repeated.
    serials.restart();
    return post(request, signal);
  }

  return {
    send: (request, signal) =>
      send(request, signal).catch((error: unknown) => failure(inquiryFailureOf(error, signal))),
    close: () => http.close(),
  };
}

function readReply({ status, body }: BankReply, { head }: Message, ownBic: string): HubReply {
  // The hub reports on payments with HTTP 200. With another status no report is believed.
  if (status !== 200) return failure({ reason: reasonForHttpStatus(status), railCode: `HTTP ${status}` });
  const report = parseReport(body, ownBic);
  if (report === 'rejected') return failure({ reason: 'rejected_by_bank', railCode: 'admi.002' });
  if (report === null) return failure({ reason: 'invalid_response', railCode: null });
  return { kind: 'report', report, head };
}

const failure = (reason: InquiryFailure): HubReply => ({ kind: 'failure', failure: reason });
