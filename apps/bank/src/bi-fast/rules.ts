import { isObject } from '../http.ts';
import { localDay, type Message, parseLocalTime, parseUtcTime, textAt, valueAt } from './message.ts';

/** What the rules check a message against, apart from its own fields. */
export interface RuleContext {
  /** BIC of the only participant that this hub serves. */
  readonly participant: string;
  /** The hub's clock, in milliseconds since 1970. */
  readonly nowMs: number;
  readonly toleranceMs: number;
}

export interface Rule {
  /** Path of the value from the root of the message: names and indexes joined by dots. */
  readonly path: string;
  readonly isValid: (value: unknown, message: Message, context: RuleContext) => boolean;
  /** With a reason, the message is well-formed and its transaction is rejected; without, the message is rejected. */
  readonly reason?: string;
}

const HEADER = 'BusMsg.AppHdr';
export const BUSINESS_MESSAGE_ID = `${HEADER}.BizMsgIdr`;
export const MESSAGE_DEFINITION = `${HEADER}.MsgDefIdr`;
export const SENDER = `${HEADER}.Fr.FIId.FinInstnId.Othr.Id`;
const CREATED = `${HEADER}.CreDt`;

// ISO 9362, without a branch.
const BIC = /^[A-Z]{6}[A-Z0-9]{2}$/;
// Date, bank, message type, originator, channel, serial number.
const END_TO_END_ID = /^\d{8}[A-Z]{6}[A-Z0-9]{2}\d{3}[OHR](?:01|02|03|99)\d{8}$/;

export const isBic: Rule['isValid'] = (value) => typeof value === 'string' && BIC.test(value);
export const isEndToEndId: Rule['isValid'] = (value) => typeof value === 'string' && END_TO_END_ID.test(value);
export const isJsonObject: Rule['isValid'] = (value) => isObject(value);
export const isOneOf =
  (...texts: string[]): Rule['isValid'] =>
  (value) =>
    texts.some((text) => text === value);
/** The same text as at another path. */
export const isSameAs =
  (path: string): Rule['isValid'] =>
  (value, message) =>
    typeof value === 'string' && value === textAt(message, path);
export const hasOneElement: Rule['isValid'] = (value) => Array.isArray(value) && value.length === 1;

const isWithinTolerance = (timeMs: number, { nowMs, toleranceMs }: RuleContext): boolean =>
  Math.abs(timeMs - nowMs) <= toleranceMs;

/** Whether an identifier begins with `YYYYMMDD BBBBBBBB TTT`: the header's day and sender, and the message type. */
function hasIdPrefix(id: string, type: string, message: Message): boolean {
  const createdMs = parseUtcTime(textAt(message, CREATED));
  return !Number.isNaN(createdMs) && id.startsWith(`${localDay(createdMs)}${textAt(message, SENDER)}${type}`);
}

/** The header (AppHdr) of a message of a type, such as `510`. */
export const headerRules = (type: string): readonly Rule[] => [
  { path: SENDER, isValid: isBic },
  { path: `${HEADER}.To.FIId.FinInstnId.Othr.Id`, isValid: isOneOf('FASTIDJA') },
  {
    path: CREATED,
    isValid: (value, _message, context) => isWithinTolerance(parseUtcTime(String(value)), context),
  },
  {
    path: BUSINESS_MESSAGE_ID,
    // Position 20 names the party that sends the message: only the originator (`O`) sends requests.
    isValid: (value, message, context) =>
      isEndToEndId(value, message, context) &&
      hasIdPrefix(String(value), type, message) &&
      String(value).charAt(19) === 'O',
  },
];

/** The group header of a document. */
export const groupRules = (group: string, type: string): readonly Rule[] => [
  {
    path: `${group}.MsgId`,
    isValid: (value, message) =>
      typeof value === 'string' && /\d{8}$/.test(value) && value.length === 27 && hasIdPrefix(value, type, message),
  },
  {
    path: `${group}.CreDtTm`,
    isValid: (value, _message, context) => isWithinTolerance(parseLocalTime(String(value)), context),
  },
];

/** Checked last, because it identifies the sender by its BIC. */
export const PARTICIPANT_RULE: Rule = {
  path: SENDER,
  isValid: (value, _message, { participant }) => value === participant,
  reason: 'U128',
};

/** The first rule that a message breaks, or null. */
export function findBrokenRule(rules: readonly Rule[], message: Message, context: RuleContext): Rule | null {
  return rules.find(({ path, isValid }) => !isValid(valueAt(message, path), message, context)) ?? null;
}
