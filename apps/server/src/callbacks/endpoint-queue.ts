/** The way to one endpoint: so many deliveries at once and no more, whatever other endpoints do. */
export interface EndpointQueue {
  /** Something may be due. */
  wake(): void;
  /** Takes up nothing new. Resolves when all that was taken up is done. */
  stop(): Promise<void>;
}

export interface EndpointQueueDependencies<Delivery, Sent> {
  /** How many are in flight at most. */
  readonly places: number;
  /** Takes up to so many of what is due. Nobody else is given the same. */
  readonly claim: (limit: number) => Promise<readonly Delivery[]>;
  /** Sends one, which holds its place until it is answered. Never rejects. */
  readonly send: (delivery: Delivery) => Promise<Sent>;
  /** Records what came of it, while others are already being sent. Never rejects. */
  readonly record: (sent: Sent) => Promise<void>;
  readonly onClaimFailed: (error: unknown) => void;
  /** Nothing is in hand, and nothing was due any more. */
  readonly onIdle: () => void;
}

/** What is in hand at most, for each place: a store that falls behind holds up what is sent. */
const IN_HAND_MAX = 4;

export function createEndpointQueue<Delivery, Sent>(
  dependencies: EndpointQueueDependencies<Delivery, Sent>,
): EndpointQueue {
  const { places, claim, send, record, onClaimFailed, onIdle } = dependencies;
  let inFlight = 0;
  /** In flight, or being recorded. */
  let inHand = 0;
  let claiming = false;
  /** Something may be due that no claim has looked for yet. */
  let wanted = false;
  let scheduled = false;
  let stopped = false;
  const ended = Promise.withResolvers<void>();

  /** In the next turn of the event loop, so that places that become free together are filled by one claim. */
  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      void fill();
    });
  }

  async function fill(): Promise<void> {
    const free = Math.min(places - inFlight, IN_HAND_MAX * places - inHand);
    if (!claiming && wanted && !stopped && free > 0) {
      claiming = true;
      wanted = false;
      try {
        const claimed = await claim(free);
        // As many as were asked for: there may be more.
        if (claimed.length === free) wanted = true;
        for (const delivery of claimed) void take(delivery);
      } catch (error) {
        onClaimFailed(error);
      }
      claiming = false;
      if (wanted) schedule();
    }
    rest();
  }

  async function take(delivery: Delivery): Promise<void> {
    inFlight += 1;
    inHand += 1;
    const sent = await send(delivery);
    inFlight -= 1;
    schedule();
    await record(sent);
    inHand -= 1;
    schedule();
  }

  function rest(): void {
    // What is scheduled ends here as well: idle is told once, by the last.
    if (inHand > 0 || claiming || scheduled) return;
    if (stopped) ended.resolve();
    else if (!wanted) onIdle();
  }

  return {
    wake() {
      wanted = true;
      schedule();
    },
    stop() {
      stopped = true;
      rest();
      return ended.promise;
    },
  };
}
