/** PostgreSQL's time as this process knows it: milliseconds since 1970. */
export interface DatabaseClock {
  now(): number;
  /** PostgreSQL's clock showed `databaseMs` at some moment between the two, which are on the monotonic clock. */
  learn(databaseMs: number, sentMs: number, receivedMs: number): void;
}

/**
 * Goes on by the monotonic clock from what it learned last. A process's own clock may jump, and what is stamped by it
 * until the next heartbeat would be off by the whole jump. A monotonic clock may stand still while its machine is
 * suspended: the next heartbeat corrects that, and what it drifts.
 *
 * It begins with `startMs`, and changes only as far as what it learns proves it wrong: a heartbeat that took long says
 * little.
 */
export function createDatabaseClock(
  startMs: number,
  monotonicMs: () => number = () => performance.now(),
): DatabaseClock {
  let offsetMs = startMs - monotonicMs();
  return {
    now: () => Math.round(monotonicMs() + offsetMs),
    learn(databaseMs, sentMs, receivedMs) {
      offsetMs = Math.min(Math.max(offsetMs, databaseMs - receivedMs), databaseMs - sentMs);
    },
  };
}
