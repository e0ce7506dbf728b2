/** Begins a few requests in each turn of the event loop, and the others in later turns. */
export interface Admission {
  /** Calls back when the request may begin, which is at once without load, or when it is rejected. */
  enter(onDecision: (isAdmitted: boolean) => void): void;
}

export interface AdmissionOptions {
  /** How long a request may wait until it begins; Infinity: as long as it takes. */
  readonly waitMaxMs: number;
  readonly onRejected: () => void;
}

/**
 * As requests are read, and again when all that had arrived are read. Twice as many inquiries may be in flight to one
 * bank (rails/resilience/settings.ts). A turn that began all that had arrived would fill them, reject the rest, and
 * read the bank's replies only then: under overload most of the processor time would go into requests that were
 * rejected at their end.
 */
const BEGUN_PER_TURN_MAX = 32;
/**
 * A rejection costs up to a third of an account check. The rest waits: so rejections take a bounded share of the
 * processor, however many arrive, and a connection whose request waits sends no other one.
 */
const REJECTED_PER_TURN_MAX = 16;

interface Waiting {
  readonly onDecision: (isAdmitted: boolean) => void;
  readonly sinceMs: number;
}

export function createAdmission({ waitMaxMs, onRejected }: AdmissionOptions): Admission {
  const waiting = createQueue<Waiting>();
  const expired = createQueue<Waiting>();
  let begun = 0;
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(turn);
  }

  /** Runs after the I/O of a turn, in which replies to requests that had begun were read. */
  function turn(): void {
    isScheduled = false;
    begun = 0;
    if (waiting.first() === undefined && expired.first() === undefined) return;
    schedule();
    const nowMs = performance.now();
    for (let first = waiting.first(); first !== undefined; first = waiting.first()) {
      const hasExpired = nowMs - first.sinceMs > waitMaxMs;
      if (!hasExpired && begun >= BEGUN_PER_TURN_MAX) break;
      waiting.removeFirst();
      if (hasExpired) expired.add(first);
      else {
        begun += 1;
        first.onDecision(true);
      }
    }
    for (let rejected = 0; rejected < REJECTED_PER_TURN_MAX; rejected += 1) {
      const first = expired.first();
      if (first === undefined) break;
      expired.removeFirst();
      onRejected();
      first.onDecision(false);
    }
  }

  return {
    enter(onDecision) {
      schedule();
      if (begun < BEGUN_PER_TURN_MAX && waiting.first() === undefined) {
        begun += 1;
        onDecision(true);
      } else waiting.add({ onDecision, sinceMs: performance.now() });
    },
  };
}

interface Queue<Item> {
  add(item: Item): void;
  first(): Item | undefined;
  removeFirst(): void;
}

/** `Array.shift` moves all items of a long array. */
function createQueue<Item>(): Queue<Item> {
  let items: Item[] = [];
  let start = 0;
  return {
    add: (item) => void items.push(item),
    first: () => items[start],
    removeFirst() {
      start += 1;
      if (start * 2 < items.length) return;
      items = items.slice(start);
      start = 0;
    },
  };
}
