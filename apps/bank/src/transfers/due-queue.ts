/** Items ordered by due time; items with the same due time in the order in which they were added. */
export interface DueQueue<Item> {
  add(dueAtMs: number, item: Item): void;
  /** Due time of the first item; null if the queue is empty. */
  firstDueAtMs(): number | null;
  /** Removes and returns the first item; null if the queue is empty. */
  takeFirst(): Item | null;
}

interface Entry<Item> {
  readonly dueAtMs: number;
  readonly number: number;
  readonly item: Item;
}

/** A binary heap: adding and removing take logarithmic time, so that thousands of items may wait. */
export function createDueQueue<Item>(): DueQueue<Item> {
  const heap: Entry<Item>[] = [];
  let count = 0;

  return {
    add(dueAtMs, item) {
      count += 1;
      const entry = { dueAtMs, number: count, item };
      heap.push(entry);
      siftUp(heap, entry);
    },
    firstDueAtMs: () => heap[0]?.dueAtMs ?? null,
    takeFirst() {
      const [first] = heap;
      const last = heap.pop();
      if (first === undefined || last === undefined) return null;
      if (first !== last) siftDown(heap, last);
      return first.item;
    },
  };
}

/** Moves the last entry up to its position. */
function siftUp<Item>(heap: Entry<Item>[], entry: Entry<Item>): void {
  let index = heap.length - 1;
  while (index > 0) {
    const parentIndex = (index - 1) >> 1;
    const parent = heap[parentIndex];
    if (parent === undefined || !isBefore(entry, parent)) break;
    heap[index] = parent;
    index = parentIndex;
  }
  heap[index] = entry;
}

/** Moves an entry down from the top, where it replaced the first one. */
function siftDown<Item>(heap: Entry<Item>[], entry: Entry<Item>): void {
  let index = 0;
  for (;;) {
    const childIndex = earlierChild(heap, index);
    const child = heap[childIndex];
    if (child === undefined || !isBefore(child, entry)) break;
    heap[index] = child;
    index = childIndex;
  }
  heap[index] = entry;
}

function earlierChild<Item>(heap: readonly Entry<Item>[], index: number): number {
  const leftIndex = 2 * index + 1;
  const left = heap[leftIndex];
  const right = heap[leftIndex + 1];
  return left !== undefined && right !== undefined && isBefore(right, left) ? leftIndex + 1 : leftIndex;
}

function isBefore<Item>(one: Entry<Item>, other: Entry<Item>): boolean {
  return one.dueAtMs < other.dueAtMs || (one.dueAtMs === other.dueAtMs && one.number < other.number);
}
