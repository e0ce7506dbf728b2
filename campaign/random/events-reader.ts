import { setTimeout as delay } from 'node:timers/promises';
import type { Owner } from './clients.ts';
import { createDraws } from './draws.ts';
import { eventsAfter } from './known-transactions.ts';
import { bearer, type RoundContext } from './round-context.ts';

const PAUSE_MS = 50;
const PAGE_MAX = 1_000;

interface ListedEvent {
  readonly sequence: number;
  readonly event_id: string;
  readonly type: string;
  readonly version: number;
}

/**
 * Reads a client's events page by page during the faults, then all of them once more, and compares both with each other
 * and with what was fed: no gap, no event twice, none too late for the cursor.
 */
export async function readEvents(context: RoundContext, owner: Owner): Promise<() => Promise<void>> {
  const { loadEnds, settleEnds, record } = context;
  const draws = createDraws(context.seed, `events reader ${owner}`);
  const events: ListedEvent[] = [];
  while (!loadEnds.aborted) {
    await readPage(context, owner, events, draws.between(1, PAGE_MAX), loadEnds);
    await delay(PAUSE_MS);
  }
  return async () => {
    while ((await readPage(context, owner, events, PAGE_MAX, settleEnds)) > 0);
    const again: ListedEvent[] = [];
    while ((await readPage(context, owner, again, PAGE_MAX, settleEnds)) > 0);
    // Events of banks and of validations may have come in between.
    const before = again.slice(0, events.length);
    if (JSON.stringify(before) !== JSON.stringify(events))
      record.wrong(
        'a reader that followed the cursor has not read all events',
        `${owner}: ${difference(events, again)}`,
      );
    judgeEvents(context, owner, again);
  };
}

/** Adds the next page to `events`; returns how many it had. */
async function readPage(
  { caller, tokens, record }: RoundContext,
  owner: Owner,
  events: ListedEvent[],
  limit: number,
  signal: AbortSignal,
): Promise<number> {
  const after = events.at(-1)?.sequence ?? 0;
  const target = `/api/v1/events?after=${after}&limit=${limit}`;
  const answer = await caller.repeat({ target, headers: bearer(tokens[owner]) }, signal);
  if (answer === null) return 0;
  if (answer.status !== 200) {
    record.wrong('the events cannot be read', `${answer.status} ${answer.text.slice(0, 300)}`);
    return 0;
  }
  const page = (JSON.parse(answer.text) as { readonly data: { readonly events: ListedEvent[] } }).data.events;
  for (const { sequence, event_id, type, version } of page) {
    const expected = (events.at(-1)?.sequence ?? 0) + 1;
    if (sequence !== expected) record.wrong('the events have a gap', `${owner}: ${sequence} instead of ${expected}`);
    events.push({ sequence, event_id, type, version });
  }
  return page.length;
}

/** Each acknowledged step has its event exactly once, in the order of the versions, and no other event is there. */
export function judgeEvents({ known, record }: RoundContext, owner: Owner, events: readonly ListedEvent[]): void {
  const listed = events.filter(({ type }) => type.startsWith('disbursement.'));
  const expected = new Map(
    known.all
      .filter((each) => each.owner === owner)
      .flatMap((each) => eventsAfter(each, each.acknowledged).map((event) => [event.eventId, event.kind] as const)),
  );
  record.count('events', expected.size);
  const lastVersions = new Map<string, number>();
  for (const { event_id: id, type, version } of listed) {
    const transactionId = id.slice(0, id.lastIndexOf('_'));
    if (version <= (lastVersions.get(transactionId) ?? 0))
      record.wrong('the events of a transaction are out of order', `${owner}: ${id}`);
    lastVersions.set(transactionId, version);
    if (expected.get(id) !== type) record.wrong('an event was never fed, or is there twice', `${owner}: ${id} ${type}`);
    expected.delete(id);
  }
  if (expected.size > 0) record.wrong('events are missing', `${owner}: ${[...expected.keys()].slice(0, 10).join(' ')}`);
}

function difference(followed: readonly ListedEvent[], all: readonly ListedEvent[]): string {
  const index = followed.findIndex((event, at) => event.event_id !== all[at]?.event_id);
  return `at ${index}: ${JSON.stringify(followed[index])}, and then ${JSON.stringify(all[index])}`;
}
