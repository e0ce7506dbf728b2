import { createDueQueue } from './due-queue.ts';

/** Runs items at their due time. Uses a single timer for all items. */
export interface Schedule<Item> {
  add(dueAtMs: number, item: Item): void;
  /** Runs all items that are due. Must be called when the clock was advanced. */
  runDue(): void;
  /** Cancels all items. */
  close(): void;
}

// setTimeout replaces a longer delay by 1 ms.
const TIMEOUT_MS_MAX = 2 ** 31 - 1;

/** `now` and the times of the items are in milliseconds since 1970; `run` is called once for each item. */
export function createSchedule<Item>(now: () => number, run: (item: Item) => void): Schedule<Item> {
  const queue = createDueQueue<Item>();
  let timer: NodeJS.Timeout | undefined;
  let timerDueAtMs = Number.POSITIVE_INFINITY;
  let closed = false;

  /** Sets the timer for the first item, unless it is already set for that time or an earlier one. */
  function setTimer(): void {
    const dueAtMs = queue.firstDueAtMs();
    if (dueAtMs === null || closed || timerDueAtMs <= dueAtMs) return;
    clearTimeout(timer);
    timerDueAtMs = dueAtMs;
    timer = setTimeout(onTimer, Math.min(Math.max(dueAtMs - now(), 1), TIMEOUT_MS_MAX));
  }

  function onTimer(): void {
    timerDueAtMs = Number.POSITIVE_INFINITY;
    runDue();
  }

  function runDue(): void {
    const nowMs = now();
    while ((queue.firstDueAtMs() ?? Number.POSITIVE_INFINITY) <= nowMs) {
      const item = queue.takeFirst();
      if (item !== null && !closed) run(item);
    }
    // The timer may be set for an item that has just run, or for a time that is nearer now that the clock was advanced.
    clearTimeout(timer);
    timerDueAtMs = Number.POSITIVE_INFINITY;
    setTimer();
  }

  return {
    add(dueAtMs, item) {
      queue.add(dueAtMs, item);
      setTimer();
    },
    runDue,
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
