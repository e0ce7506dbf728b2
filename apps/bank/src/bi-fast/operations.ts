import { type Answer, jsonAnswer } from '../answer.ts';
import type { Bank } from '../bank.ts';
import type { BankProfile, Operation } from '../bank-profile.ts';
import { isJson, parseObject } from '../json.ts';
import { type BankRequest, header } from '../request.ts';
import { answerEnquiry, ENQUIRY_RULES } from './account-enquiry.ts';
import { reject } from './answers.ts';
import { type Message, textAt } from './message.ts';
import { answerStatus, STATUS_RULES } from './payment-status.ts';
import { BUSINESS_MESSAGE_ID, brokenRule, MESSAGE_DEFINITION, type Rule } from './rules.ts';

const DUPLICATE = 'U149';

interface Kind {
  readonly rules: readonly Rule[];
  readonly answer: (bank: Bank, message: Message, reason: string | null) => Answer | 'never';
  /** Where its MsgId stands. */
  readonly messageId: string;
}

const KINDS: ReadonlyMap<string, Kind> = new Map([
  [
    'pacs.008.001.08',
    { rules: ENQUIRY_RULES, answer: answerEnquiry, messageId: 'BusMsg.Document.FIToFICstmrCdtTrf.GrpHdr.MsgId' },
  ],
  [
    'pacs.028.001.04',
    { rules: STATUS_RULES, answer: answerStatus, messageId: 'BusMsg.Document.FIToFIPmtStsReq.GrpHdr.MsgId' },
  ],
]);

/** Cheap checks come first, and identifiers are used up last: a message that is none uses up nothing. */
function answer(bank: Bank, request: BankRequest): Answer | 'never' {
  if (!isJson(header(request, 'content-type'))) return reject(bank, {}, 'Content-Type', 415);
  const message = parseObject(request.body);
  if (message === null) return reject(bank, {}, 'body', 400);
  const kind = KINDS.get(textAt(message, MESSAGE_DEFINITION));
  if (kind === undefined) return reject(bank, message, MESSAGE_DEFINITION);

  const broken = brokenRule(kind.rules, message, {
    participant: bank.settings.partnerId,
    nowMs: bank.now(),
    toleranceMs: bank.settings.clockToleranceSeconds * 1000,
  });
  if (broken !== null && broken.reason === undefined) return reject(bank, message, broken.at);
  if (broken?.reason !== undefined) return kind.answer(bank, message, broken.reason);
  return kind.answer(bank, message, isNew(bank, message, kind) ? null : DUPLICATE);
}

/** Both identifiers are unique within the day. */
function isNew(bank: Bank, message: Message, { messageId }: Kind): boolean {
  const claimed = [BUSINESS_MESSAGE_ID, messageId].map((at) => bank.requestIds.claim(textAt(message, at), bank.now()));
  return claimed.every(Boolean);
}

const OPERATION: Operation = { answer, tooLong: jsonAnswer(413, {}) };

/** The BI-FAST hub, as a participant sees it: one address that takes every message. */
export const BI_FAST: BankProfile = {
  findOperation: (path) => (path === '/bi-fast' ? OPERATION : undefined),
  unknownRoute: jsonAnswer(404, {}),
};
