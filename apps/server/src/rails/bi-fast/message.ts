import { randomInt } from 'node:crypto';
import { JAKARTA_OFFSET_MS } from '../../domain/instant.ts';
import type { BiFastSettings } from './settings.ts';

/** The three digits for the kind of message in identifiers: account enquiry, payment status request. */
type MessageType = '510' | '000';

/** One request to the hub, without the fields that change when it is sent again. */
export interface HubRequest {
  readonly type: MessageType;
  /** `MsgDefIdr`. */
  readonly definition: string;
  /** Of the whole request, below the origin. */
  readonly path: string;
  /** The `Document` of the message. */
  readonly document: (head: MessageHead) => object;
}

export interface MessageHead {
  /** BizMsgIdr, and EndToEndId of an enquiry: `YYYYMMDD BBBBBBBB TTT O CC SSSSSSSS` without the spaces. */
  readonly endToEndId: string;
  /** MsgId, and TxId of an enquiry: `YYYYMMDD BBBBBBBB TTT SSSSSSSS` without the spaces. */
  readonly messageId: string;
  /** `CreDtTm`. */
  readonly createdAt: string;
}

export interface Message {
  readonly head: MessageHead;
  /** Minified JSON. */
  readonly body: string;
}

/** The hub's own identifier. */
export const HUB = 'FASTIDJA';
/** The originator of a message. The hub's own messages have H in its place, and those of responders R. */
const ORIGINATOR = 'O';

/** `serial` has eight digits. */
export function writeMessage(
  { type, definition, document }: HubRequest,
  { bic, channel }: Pick<BiFastSettings, 'bic' | 'channel'>,
  { atMs, serial }: { readonly atMs: number; readonly serial: string },
): Message {
  const createdAt = hubTime(atMs);
  // The hub's day, because serials are unique within it.
  const start = `${createdAt.slice(0, 10).replaceAll('-', '')}${bic}${type}`;
  const endToEndId = `${start}${ORIGINATOR}${channel}${serial}`;
  const head: MessageHead = { endToEndId, messageId: `${start}${serial}`, createdAt };
  const header = {
    Fr: { FIId: institution(bic) },
    To: { FIId: institution(HUB) },
    BizMsgIdr: head.endToEndId,
    MsgDefIdr: definition,
    CreDt: utcTime(atMs),
  };
  return { head, body: JSON.stringify({ BusMsg: { AppHdr: header, Document: document(head) } }) };
}

/** A bank, or the hub, by its identifier. */
export const institution = (id: string): object => ({ FinInstnId: { Othr: { Id: id } } });

/** `CreDtTm`: the hub's local time, which is Jakarta's, `yyyy-MM-ddTHH:mm:ss` without a zone. */
const hubTime = (atMs: number): string => new Date(atMs + JAKARTA_OFFSET_MS).toISOString().slice(0, 19);

/** `CreDt` of the header: UTC, `yyyy-MM-ddTHH:mm:ssZ` (ISO 20022 head.001, ISONormalisedDateTime). */
const utcTime = (atMs: number): string => `${new Date(atMs).toISOString().slice(0, 19)}Z`;

export interface Serials {
  next(): string;
  /** Continues from another random start, because another process has used these serials already. */
  restart(): void;
}

const SERIALS = 100_000_000;

/**
 * Eight digits, unique within a day in this process, and nearly so among all processes that share a BIC. A counter with
 * a random start, not a random number each time: two processes with 100,000 requests a day collide on one day in 500,
 * while random numbers would collide every day. After a collision the process continues from another start.
 */
export function createSerials(randomStart: () => number = () => randomInt(SERIALS)): Serials {
  let last = randomStart();
  return {
    next() {
      last = (last + 1) % SERIALS;
      return last.toString().padStart(8, '0');
    },
    restart() {
      last = randomStart();
    },
  };
}
