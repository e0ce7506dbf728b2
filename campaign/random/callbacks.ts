import { setTimeout as delay } from 'node:timers/promises';
import { OWNERS, type Owner } from './clients.ts';
import { eventsAfter, type KnownTransactions } from './known-transactions.ts';
import type { Receiver } from './receiver.ts';
import { bearer, type RoundContext } from './round-context.ts';

const KINDS_OF: readonly (readonly string[])[] = [
  ['disbursement.succeeded', 'disbursement.failed', 'disbursement.overdue', 'disbursement.reversed'],
  ['disbursement.reversed'],
];
const POLL_MS = 200;

export interface KnownEndpoint {
  readonly owner: Owner;
  readonly path: string;
  readonly kinds: readonly string[];
}

/** The owner of an event by its ID, for the receiver. */
export const ownerOf =
  (known: KnownTransactions) =>
  (eventId: string): string | null =>
    known.find(/^evt_(CAM\d+)_\d+$/.exec(eventId)?.[1] ?? '')?.owner ?? null;

/** Registers two endpoints of each owner. */
export async function registerEndpoints(context: RoundContext, receiver: Receiver): Promise<KnownEndpoint[]> {
  const { caller, tokens, canaries, settleEnds } = context;
  const endpoints: KnownEndpoint[] = [];
  for (const owner of OWNERS) {
    for (const kinds of KINDS_OF) {
      const path = `/${owner}/${endpoints.length}`;
      const answer = await caller.repeat(
        {
          method: 'POST',
          target: '/api/v1/callback-endpoints',
          headers: { ...bearer(tokens[owner]), 'content-type': 'application/json' },
          body: JSON.stringify({ url: `https://127.0.0.1:${receiver.port}${path}`, kinds }),
        },
        settleEnds,
      );
      if (answer?.status !== 201) throw new Error(`registering an endpoint failed: ${answer?.text}`);
      const { secret } = (JSON.parse(answer.text) as { readonly data: { readonly secret: string } }).data;
      canaries.add(secret);
      receiver.register(path, { clientId: owner, secret });
      endpoints.push({ owner, path, kinds });
    }
  }
  return endpoints;
}

/** The IDs of the events that an endpoint must get and has not got. */
function missingAt({ known }: Pick<RoundContext, 'known'>, endpoint: KnownEndpoint, receiver: Receiver) {
  const arrived = receiver.arrived(endpoint.path);
  return known.all
    .filter(({ owner }) => owner === endpoint.owner)
    .flatMap((each) => eventsAfter(each, each.acknowledged))
    .filter(({ kind, eventId }) => endpoint.kinds.includes(kind) && !arrived.has(eventId))
    .map(({ eventId }) => eventId);
}

/** Waits until every endpoint has got every event. `makeDue` ends the pauses between attempts. */
export async function judgeCallbacks(
  context: RoundContext,
  receiver: Receiver,
  endpoints: readonly KnownEndpoint[],
  makeDue: () => Promise<void>,
): Promise<void> {
  const { settleEnds, record } = context;
  const isMissing = (): boolean => endpoints.some((endpoint) => missingAt(context, endpoint, receiver).length > 0);
  for (let round = 0; isMissing() && !settleEnds.aborted; round += 1) {
    if (round % 10 === 0) await makeDue();
    await delay(POLL_MS);
  }
  for (const endpoint of endpoints) {
    const missing = missingAt(context, endpoint, receiver);
    if (missing.length > 0)
      record.wrong('callbacks are missing', `${endpoint.path}: ${missing.length}, ${missing.slice(0, 10).join(' ')}`);
  }
}
