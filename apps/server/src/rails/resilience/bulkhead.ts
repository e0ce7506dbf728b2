/** How much may be under way at once. Whoever finds it full goes elsewhere at once: waiting would use up his deadline. */
export interface Bulkhead {
  readonly max: number;
  inFlight(): number;
  isFull(): boolean;
  /** How many more may begin that can wait: half of the places are left to those that cannot. */
  spareCapacity(): number;
  enter(): void;
  leave(): void;
}

export function createBulkhead(max: number): Bulkhead {
  let inFlight = 0;
  return {
    max,
    inFlight: () => inFlight,
    isFull: () => inFlight >= max,
    spareCapacity: () => Math.max(Math.ceil(max / 2) - inFlight, 0),
    enter() {
      inFlight += 1;
    },
    leave() {
      inFlight -= 1;
    },
  };
}
