export interface Batcher<Item> {
  /** Resolves when the item has been written, or given up. */
  add(item: Item): Promise<void>;
}

interface Waiting<Item> {
  readonly item: Item;
  resolve(): void;
}

/**
 * Writes what has gathered while the last batch was being written: a batch of one when there is little to do, of many
 * when there is much. `write` deals with its failures itself.
 */
export function createBatcher<Item>(
  write: (items: readonly Item[]) => Promise<void>,
  batchSizeMax: number,
): Batcher<Item> {
  let gathered: Waiting<Item>[] = [];
  let writing = false;

  async function drain(): Promise<void> {
    writing = true;
    try {
      while (gathered.length > 0) {
        const batch = gathered.slice(0, batchSizeMax);
        gathered = gathered.slice(batchSizeMax);
        await write(batch.map(({ item }) => item));
        for (const { resolve } of batch) resolve();
      }
    } finally {
      writing = false;
    }
  }

  return {
    add: (item) =>
      new Promise((resolve) => {
        gathered.push({ item, resolve });
        // In the next turn of the event loop, with what else has ended in this one.
        if (!writing && gathered.length === 1) setImmediate(() => void drain());
      }),
  };
}
