import { isObject } from '../http.ts';
import { localDay, type Message, parseLocalTime, parseUtcTime, textAt, valueAt } from './message.ts';

/** What a message is held against besides itself. */
export interface RuleContext {
  /** BIC of the one participant that this hub serves. */
  readonly participant: string;
  /** The hub's clock, in milliseconds since 1970. */
  readonly nowMs: number;
  readonly toleranceMs: number;
}

export interface Rule {
  /** Names and indexes below the whole message. */
  readonly path: string;
  readonly isValid: (value: unknown, message: Message, circumstances: RuleContext) => boolean;
  /** With a reason the message is understood, and what it asks for rejected. */
  readonly reason?: string;
}

const HEADER = 'BusMsg.AppHdr';
export const BUSINESS_MESSAGE_ID = `${HEADER}.BizMsgIdr`;
export const MESSAGE_DEFINITION = `${HEADER}.MsgDefIdr`;
export const SENDER = `${HEADER}.Fr.FIId.FinInstnId.Othr.Id`;
const CREATED = `${HEADER}.CreDt`;

// ISO 9362, without a branch.
const BIC = /^[A-Z]{6}[A-Z0-9]{2}$/;
// Date, bank, type of message, originator, channel, serial.
const END_TO_END_ID = /^\d{8}[A-Z]{6}[A-Z0-9]{2}\d{3}[OHR](?:01|02|03|99)\d{8}$/;

export const isBic: Rule['isValid'] = (value) => typeof value === 'string' && BIC.test(value);
export const isEndToEndId: Rule['isValid'] = (value) => typeof value === 'string' && END_TO_END_ID.test(value);
export const isJsonObject: Rule['isValid'] = (value) => isObject(value);
export const isOneOf =
  (...texts: string[]): Rule['isValid'] =>
  (value) =>
    texts.some((text) => text === value);
/** The same text as at another place. */
export const isSameAs =
  (at: string): Rule['isValid'] =>
  (value, message) =>
    typeof value === 'string' && value === textAt(message, at);
export const hasOneElement: Rule['isValid'] = (value) => Array.isArray(value) && value.length === 1;

const isWithinTolerance = (timeMs: number, { nowMs, toleranceMs }: RuleContext): boolean =>
  Math.abs(timeMs - nowMs) <= toleranceMs;

/** `YYYYMMDD BBBBBBBB TTT`: the day and the sender of the header, and the type of the message. */
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
    isValid: (value, _message, circumstances) => isWithinTolerance(parseUtcTime(String(value)), circumstances),
  },
  {
    path: BUSINESS_MESSAGE_ID,
    // Position 20 says whose message it is: only the originator asks.
    isValid: (value, message, circumstances) =>
      isEndToEndId(value, message, circumstances) &&
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
    isValid: (value, _message, circumstances) => isWithinTolerance(parseLocalTime(String(value)), circumstances),
  },
];

/** Last, because the sender is told by its name. */
export const PARTICIPANT_RULE: Rule = {
  path: SENDER,
  isValid: (value, _message, { participant }) => value === participant,
  reason: 'U128',
};

/** The first rule that a message breaks, or null. */
export function findBrokenRule(rules: readonly Rule[], message: Message, circumstances: RuleContext): Rule | null {
  return rules.find(({ path, isValid }) => !isValid(valueAt(message, path), message, circumstances)) ?? null;
}
