export interface Batcher<Item, Result> {
  /** Resolves with the item's result once its batch is written; rejects with the error of the write that failed. */
  add(item: Item): Promise<Result>;
}

export interface BatcherOptions<Item> {
  /** How much an item counts toward the size of a batch. By default 1. */
  readonly weightOf?: (item: Item) => number;
  /** How many batches may be in flight. By default 1. */
  readonly batchesMax?: number;
  /** Whether the items of a batch that failed with this error are written again, one by one. By default none are. */
  readonly isolates?: (error: unknown) => boolean;
}

interface Pending<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result | Promise<Result>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Writes together the items that arrive while earlier batches are being written: batches of one under light load,
 * large batches under heavy load. `write` resolves with one result per item, in order, or with nothing if `Result` is
 * void; the result of an item that failed alone is a promise that rejects. An item heavier than `weightMax` is a batch
 * of its own.
 */
export function createBatcher<Item, Result = void>(
  write: (items: readonly Item[]) => Promise<readonly (Result | Promise<Result>)[] | void>,
  weightMax: number,
  { weightOf = () => 1, batchesMax = 1, isolates = () => false }: BatcherOptions<Item> = {},
): Batcher<Item, Result> {
  let pending: Pending<Item, Result>[] = [];
  let inFlight = 0;
  let isScheduled = false;

  function takeBatch(): readonly Pending<Item, Result>[] {
    let count = 0;
    let weight = 0;
    for (const { item } of pending) {
      weight += weightOf(item);
      if (count > 0 && weight > weightMax) break;
      count += 1;
    }
    const batch = pending.slice(0, count);
    pending = pending.slice(count);
    return batch;
  }

  /** Never rejects. */
  async function writeBatch(batch: readonly Pending<Item, Result>[]): Promise<void> {
    try {
      const results = await write(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(results?.[index] as Result | Promise<Result>);
    } catch (error) {
      if (batch.length > 1 && isolates(error)) for (const each of batch) await writeBatch([each]);
      else for (const { reject } of batch) reject(error);
    }
  }

  async function startBatch(): Promise<void> {
    inFlight += 1;
    await writeBatch(takeBatch());
    inFlight -= 1;
    startBatches();
  }

  function startBatches(): void {
    while (pending.length > 0 && inFlight < batchesMax) void startBatch();
  }

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        pending.push({ item, resolve, reject });
        // When a batch ends, the next one starts at once.
        if (isScheduled || inFlight >= batchesMax) return;
        isScheduled = true;
        // In the next turn of the event loop, so that the other items of this turn join the batch.
        setImmediate(() => {
          isScheduled = false;
          startBatches();
        });
      }),
  };
}
