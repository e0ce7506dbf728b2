import type { Bank, BankProfile, Operation } from '../bank.ts';
import { type BankRequest, type BankResponse, header, isJson, jsonResponse, parseObject } from '../http.ts';
import { ENQUIRY_RULES, handleEnquiry } from './account-enquiry.ts';
import { type Message, textAt } from './message.ts';
import { handleStatusRequest, STATUS_RULES } from './payment-status.ts';
import { reject } from './responses.ts';
import { BUSINESS_MESSAGE_ID, findBrokenRule, MESSAGE_DEFINITION, type Rule } from './rules.ts';

const DUPLICATE = 'U149';

interface MessageType {
  readonly rules: readonly Rule[];
  readonly handle: (bank: Bank, message: Message, reason: string | null) => BankResponse | 'no-response';
  /** Path of MsgId. */
  readonly messageIdPath: string;
}

const MESSAGE_TYPES: ReadonlyMap<string, MessageType> = new Map([
  [
    'pacs.008.001.08',
    { rules: ENQUIRY_RULES, handle: handleEnquiry, messageIdPath: 'BusMsg.Document.FIToFICstmrCdtTrf.GrpHdr.MsgId' },
  ],
  [
    'pacs.028.001.04',
    { rules: STATUS_RULES, handle: handleStatusRequest, messageIdPath: 'BusMsg.Document.FIToFIPmtStsReq.GrpHdr.MsgId' },
  ],
]);

/** Cheap checks come first. Identifiers are claimed last, so that an invalid message claims none. */
function handle(bank: Bank, request: BankRequest): BankResponse | 'no-response' {
  if (!isJson(header(request, 'content-type'))) return reject(bank, {}, 'Content-Type', 415);
  const message = parseObject(request.body);
  if (message === null) return reject(bank, {}, 'body', 400);
  const messageType = MESSAGE_TYPES.get(textAt(message, MESSAGE_DEFINITION));
  if (messageType === undefined) return reject(bank, message, MESSAGE_DEFINITION);

  const broken = findBrokenRule(messageType.rules, message, {
    participant: bank.settings.partnerId,
    nowMs: bank.now(),
    toleranceMs: bank.settings.clockToleranceSeconds * 1000,
  });
  if (broken !== null && broken.reason === undefined) return reject(bank, message, broken.path);
  if (broken?.reason !== undefined) return messageType.handle(bank, message, broken.reason);
  return messageType.handle(bank, message, isNew(bank, message, messageType) ? null : DUPLICATE);
}

/** Whether both identifiers are used for the first time today. Claims both. */
function isNew(bank: Bank, message: Message, { messageIdPath }: MessageType): boolean {
  const claimed = [BUSINESS_MESSAGE_ID, messageIdPath].map((path) =>
    bank.requestIds.claim(textAt(message, path), bank.now()),
  );
  return claimed.every(Boolean);
}

const OPERATION: Operation = { handle, bodyTooLong: jsonResponse(413, {}) };

/** The BI-FAST hub, as a participant sees it: one path that accepts every message. */
export const BI_FAST: BankProfile = {
  findOperation: (path) => (path === '/bi-fast' ? OPERATION : undefined),
  unknownRoute: jsonResponse(404, {}),
};
