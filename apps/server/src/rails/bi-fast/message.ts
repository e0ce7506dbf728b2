import { type Identifiers, identifiersOf, type MessageType } from './identifiers.ts';
import type { BiFastSettings } from './settings.ts';
import { timeAtHub, utcTime } from './times.ts';

/** One kind of question, and what is particular about this one. */
export interface HubRequest {
  readonly type: MessageType;
  /** `MsgDefIdr`. */
  readonly definition: string;
  /** Of the whole request, below the origin. */
  readonly path: string;
  /** What the message holds besides its header. */
  readonly document: (head: MessageHead) => object;
}

/** What this sending of the question is called. */
export interface MessageHead extends Identifiers {
  /** `CreDtTm`. */
  readonly createdAt: string;
}

export interface Message {
  readonly head: MessageHead;
  /** Minified JSON. */
  readonly body: string;
}

/** The hub's own identifier. */
const HUB = 'FASTIDJA';

export function writeMessage(
  { type, definition, document }: HubRequest,
  { bic, channel }: Pick<BiFastSettings, 'bic' | 'channel'>,
  { atMs, serial }: { readonly atMs: number; readonly serial: string },
): Message {
  const identifiers = identifiersOf({ atMs, bic, type, channel, serial });
  const head: MessageHead = { ...identifiers, createdAt: timeAtHub(atMs) };
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
