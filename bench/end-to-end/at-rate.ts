import { setTimeout as wait } from 'node:timers/promises';

/** More than that under way, and whoever is told is not keeping up: the next waits. */
const UNDER_WAY_MAX = 64;
/** What cannot be done within so many times its time is left. */
const LATE_MAX = 1.5;

export interface Done<Item> {
  /** Fewer than were given where the rate was not kept up. */
  readonly items: Item[];
  readonly perSecond: number;
}

/** Does it for one item after the other at this rate, whether or not those before are done. Resolves when all are. */
export async function atRate<Item>(
  items: readonly Item[],
  perSecond: number,
  signal: AbortSignal,
  act: (item: Item) => Promise<unknown>,
): Promise<Done<Item>> {
  const startedMs = performance.now();
  const deadlineMs = startedMs + ((items.length * 1000) / perSecond) * LATE_MAX;
  const underWay = new Set<Promise<void>>();
  const begun: Item[] = [];
  let failure: { readonly error: unknown } | undefined;
  for (const item of items) {
    const earlyMs = startedMs + (begun.length * 1000) / perSecond - performance.now();
    if (earlyMs > 0) await wait(earlyMs, undefined, { signal });
    if (underWay.size >= UNDER_WAY_MAX) await Promise.race(underWay);
    if (failure !== undefined || performance.now() > deadlineMs) break;
    begun.push(item);
    const acting: Promise<void> = act(item)
      .then(
        () => {},
        (error: unknown) => {
          failure ??= { error };
        },
      )
      .finally(() => underWay.delete(acting));
    underWay.add(acting);
  }
  await Promise.all(underWay);
  if (failure !== undefined) throw failure.error;
  return { items: begun, perSecond: begun.length / ((performance.now() - startedMs) / 1000) };
}
