/** How much may be under way at once. Whoever finds it full goes elsewhere at once: waiting would use up his deadline. */
export interface Bulkhead {
  readonly max: number;
  inFlight(): number;
  isFull(): boolean;
  enter(): void;
  leave(): void;
}

export function createBulkhead(max: number): Bulkhead {
  let inFlight = 0;
  return {
    max,
    inFlight: () => inFlight,
    isFull: () => inFlight >= max,
    enter() {
      inFlight += 1;
    },
    leave() {
      inFlight -= 1;
    },
  };
}
