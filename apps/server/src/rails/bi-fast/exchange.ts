import { type BankReply, createBankHttp } from '../bank-http.ts';
import { type InquiryFailure, inquiryFailureOf, reasonForHttpStatus } from '../http-failure.ts';
import { createSerials } from './identifiers.ts';
import { type HubRequest, type Message, type MessageHead, writeMessage } from './message.ts';
import type { BiFastSettings } from './settings.ts';
import { parseReport, type StatusReport } from './status-report.ts';

export type HubReply =
  | { readonly kind: 'report'; readonly report: StatusReport; readonly sent: MessageHead }
  | { readonly kind: 'no_answer'; readonly noAnswer: InquiryFailure };

export interface BiFastExchange {
  /** Never rejects. */
  send(question: HubRequest, signal: AbortSignal): Promise<HubReply>;
  close(): Promise<void>;
}

const HEADERS = { 'content-type': 'application/json', accept: 'application/json' };
const DUPLICATE = 'U149';

/** What every question to the hub has in common: identifiers, one POST, and asking once more when they were used already. */
export function createBiFastExchange(settings: BiFastSettings, origin: string): BiFastExchange {
  const http = createBankHttp(origin, settings.transport);
  const serials = createSerials();

  async function send(question: HubRequest, signal: AbortSignal): Promise<HubReply> {
    const message = writeMessage(question, settings, { atMs: Date.now(), serial: serials.next() });
    return reported(await http.post(question.path, HEADERS, message.body, signal), message, settings.bic);
  }

  async function ask(question: HubRequest, signal: AbortSignal): Promise<HubReply> {
    const first = await send(question, signal);
    if (first.kind !== 'report' || first.report.reason !== DUPLICATE) return first;
    // Another process of this participant was here before; a question may be asked as often as one likes.
    serials.leap();
    return send(question, signal);
  }

  return {
    send: (question, signal) =>
      ask(question, signal).catch((error: unknown) => noAnswer(inquiryFailureOf(error, signal))),
    close: () => http.close(),
  };
}

function reported({ status, body }: BankReply, { head }: Message, ownBic: string): HubReply {
  // What the hub says of payments it says with 200: beside another status no report is to be believed.
  if (status !== 200) return noAnswer({ reason: reasonForHttpStatus(status), railCode: `HTTP ${status}` });
  const report = parseReport(body, ownBic);
  if (report === 'rejected') return noAnswer({ reason: 'rejected_by_bank', railCode: 'admi.002' });
  if (report === null) return noAnswer({ reason: 'invalid_response', railCode: null });
  return { kind: 'report', report, sent: head };
}

const noAnswer = (reason: InquiryFailure): HubReply => ({ kind: 'no_answer', noAnswer: reason });
