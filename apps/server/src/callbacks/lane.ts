/** The way to one endpoint: so many deliveries at once and no more, whatever other endpoints do. */
export interface Lane {
  /** Something may be due. */
  wake(): void;
  /** Takes up nothing new. Resolves when nothing is in flight. */
  stop(): Promise<void>;
}

export interface LaneParts<Delivery> {
  /** How many are in flight at most. */
  readonly places: number;
  /** Takes up to so many of what is due. Nobody else is given the same. */
  readonly claim: (limit: number) => Promise<readonly Delivery[]>;
  /** Sends one and records what came of it; until then it holds its place. Never rejects. */
  readonly deliver: (delivery: Delivery) => Promise<void>;
  readonly onClaimFailed: (error: unknown) => void;
  /** Nothing is in flight, and nothing was due any more. */
  readonly onIdle: () => void;
}

export function createLane<Delivery>({ places, claim, deliver, onClaimFailed, onIdle }: LaneParts<Delivery>): Lane {
  let inFlight = 0;
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
    const free = places - inFlight;
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
    await deliver(delivery);
    inFlight -= 1;
    schedule();
  }

  function rest(): void {
    // What is scheduled ends here as well: idle is told once, by the last.
    if (inFlight > 0 || claiming || scheduled) return;
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
