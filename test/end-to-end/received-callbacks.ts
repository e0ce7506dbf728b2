/** Reads the service's output as text, because parsing it and writing it again could hide a difference. */

/** A flat JSON object; its strings may contain braces. */
const OBJECT = String.raw`\{(?:[^"{}]|"(?:[^"\\]|\\.)*")*\}`;

/** An event as the list of events or a callback reports it. */
export interface NotifiedEvent {
  readonly type: string;
  readonly timestamp: string;
  readonly version: number;
  /** The transaction's JSON text, byte for byte. */
  readonly data: string;
}

export interface ListedEvent extends NotifiedEvent {
  readonly sequence: number;
  readonly eventId: string;
}

/** The `data` of a status check. */
export function dataOf(answer: string): string {
  return required(new RegExp(`^\\{"success":true,"message":"[^"]*","data":(${OBJECT}),"meta"`).exec(answer), answer, 1);
}

const CALLBACK = new RegExp(`^\\{"type":"([^"]+)","timestamp":"([^"]+)","version":(\\d+),"data":(${OBJECT})\\}$`);

export function readCallback(body: string): NotifiedEvent {
  const match = CALLBACK.exec(body);
  return {
    type: required(match, body, 1),
    timestamp: required(match, body, 2),
    version: Number(required(match, body, 3)),
    data: required(match, body, 4),
  };
}

const LISTED = new RegExp(
  String.raw`\{"sequence":(\d+),"event_id":"([^"]+)","type":"([^"]+)","timestamp":"([^"]+)",` +
    String.raw`"version":(\d+),"data":(${OBJECT})\}`,
  'g',
);

export function readListedEvents(answer: string): ListedEvent[] {
  return [...answer.matchAll(LISTED)].map((match) => ({
    sequence: Number(match[1]),
    eventId: String(match[2]),
    type: String(match[3]),
    timestamp: String(match[4]),
    version: Number(match[5]),
    data: String(match[6]),
  }));
}

export const transactionIdOf = (data: string): string => required(/^\{"transaction_id":"(\w+)"/.exec(data), data, 1);

function required(match: RegExpExecArray | null, text: string, group: number): string {
  const found = match?.[group];
  if (found === undefined) throw new Error(`unexpected format: ${text}`);
  return found;
}
