/** The deliveries of one endpoint: a fixed number of attempts in flight, independent of other endpoints. */
export interface EndpointQueue {
  /** Deliveries may be due. */
  wake(): void;
  /** Claims nothing more. */
  stop(): Draining;
}

/** What is left of a queue that has been stopped. */
export interface Draining {
  /** Resolves when every claimed delivery was attempted. */
  readonly sent: Promise<void>;
  /** Resolves when every claimed delivery is recorded. */
  readonly recorded: Promise<void>;
}

export interface QueueOptions<Delivery, Attempt> {
  /** Attempts in flight at most. */
  readonly slots: number;
  /** Claims up to `limit` deliveries that are due. No other claim returns the same ones. */
  readonly claim: (limit: number) => Promise<readonly Delivery[]>;
  /** Makes an attempt, which holds its slot until it ends. Never rejects. */
  readonly send: (delivery: Delivery) => Promise<Attempt>;
  /** Records the attempt; the slot is free meanwhile. Never rejects. */
  readonly record: (attempt: Attempt) => Promise<void>;
  readonly onClaimFailed: (error: unknown) => void;
  /** Every claimed delivery is recorded, and no more was due. */
  readonly onIdle: () => void;
}

/** Claimed and unrecorded deliveries at most, for each slot: when recording falls behind, sending waits for it. */
const UNRECORDED_PER_SLOT_MAX = 4;

export function createEndpointQueue<Delivery, Attempt>(options: QueueOptions<Delivery, Attempt>): EndpointQueue {
  const { slots, claim, send, record, onClaimFailed, onIdle } = options;
  let inFlight = 0;
  /** In flight, or being recorded. */
  let unrecorded = 0;
  let claiming = false;
  /** Deliveries may be due that no claim has looked for yet. */
  let claimNeeded = false;
  let scheduled = false;
  let stopped = false;
  const [sent, recorded] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];

  /** Claims in the next turn of the event loop, so that slots that become free together are filled by one claim. */
  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => void fillSlots());
  }

  async function fillSlots(): Promise<void> {
    scheduled = false;
    const free = Math.min(slots - inFlight, UNRECORDED_PER_SLOT_MAX * slots - unrecorded);
    if (!claiming && claimNeeded && !stopped && free > 0) {
      claiming = true;
      claimNeeded = false;
      try {
        const deliveries = await claim(free);
        // A full claim: more may be due.
        if (deliveries.length === free) claimNeeded = true;
        for (const delivery of deliveries) void deliver(delivery);
      } catch (error) {
        onClaimFailed(error);
      }
      claiming = false;
      if (claimNeeded) schedule();
    }
    finishIfDrained();
  }

  async function deliver(delivery: Delivery): Promise<void> {
    inFlight += 1;
    unrecorded += 1;
    const attempt = await send(delivery);
    inFlight -= 1;
    schedule();
    await record(attempt);
    unrecorded -= 1;
    schedule();
  }

  function finishIfDrained(): void {
    if (stopped && inFlight === 0 && !claiming) sent.resolve();
    // A scheduled claim calls this again, so only the last call reports idle.
    if (unrecorded > 0 || claiming || scheduled) return;
    if (stopped) recorded.resolve();
    else if (!claimNeeded) onIdle();
  }

  return {
    wake() {
      claimNeeded = true;
      schedule();
    },
    stop() {
      stopped = true;
      finishIfDrained();
      return { sent: sent.promise, recorded: recorded.promise };
    },
  };
}
