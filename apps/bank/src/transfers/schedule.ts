import { createDueQueue } from './due-queue.ts';

/** Items that wait for their time, however many, behind a single timer. */
export interface Schedule<Item> {
  add(dueAtMs: number, item: Item): void;
  /** Runs what is due by now; to be called when the clock was pushed. */
  runDue(): void;
  /** Nothing runs any more. */
  close(): void;
}

// setTimeout takes a longer delay for 1 ms.
const TIMEOUT_MS_MAX = 2 ** 31 - 1;

/** `now` and the times of the items are in milliseconds since 1970; `run` is called once for each item. */
export function createSchedule<Item>(now: () => number, run: (item: Item) => void): Schedule<Item> {
  const queue = createDueQueue<Item>();
  let timer: NodeJS.Timeout | undefined;
  let timerDueAtMs = Number.POSITIVE_INFINITY;
  let closed = false;

  /** Sets the timer for the first item, unless it is set for that or an earlier time already. */
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
    // The timer may stand for an item that has just run, or for a time that a push has brought nearer.
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
