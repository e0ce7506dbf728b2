import { randomInt } from 'node:crypto';
import { dayAtHub } from './times.ts';

/** The identifiers' three digits for the kind of message: account enquiry, payment status request. */
export type MessageType = '510' | '000';

export interface Identifiers {
  /** BizMsgIdr, and EndToEndId of an enquiry: `YYYYMMDD BBBBBBBB TTT O CC SSSSSSSS` without the spaces. */
  readonly endToEndId: string;
  /** MsgId, and TxId of an enquiry: `YYYYMMDD BBBBBBBB TTT SSSSSSSS` without the spaces. */
  readonly messageId: string;
}

export interface IdentifierFields {
  readonly atMs: number;
  readonly bic: string;
  readonly type: MessageType;
  readonly channel: string;
  /** Eight digits. */
  readonly serial: string;
}

/** We are the one who begins: the hub's own messages have H there, and responders' R. */
const ORIGINATOR = 'O';

export function identifiersOf({ atMs, bic, type, channel, serial }: IdentifierFields): Identifiers {
  const start = `${dayAtHub(atMs)}${bic}${type}`;
  return { endToEndId: `${start}${ORIGINATOR}${channel}${serial}`, messageId: `${start}${serial}` };
}

export interface Serials {
  next(): string;
  /** Goes on somewhere else: somebody has used these already. */
  leap(): void;
}

const SERIALS = 100_000_000;

/**
 * Eight digits, unique within a day in this process, and nearly so among all that share a BIC. A count from a random start
 * and not a random number each time: two processes with 100,000 questions a day meet on one day in 500, while drawn
 * numbers would meet every day, and a process that met another one leaps away.
 */
export function createSerials(drawStart: () => number = () => randomInt(SERIALS)): Serials {
  let last = drawStart();
  return {
    next() {
      last = (last + 1) % SERIALS;
      return last.toString().padStart(8, '0');
    },
    leap() {
      last = drawStart();
    },
  };
}
