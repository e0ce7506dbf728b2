import type { CircuitBreaker } from './circuit-breaker.ts';

/**
 * What one process has found about one bank over one rail.
 *
 * - It fails: the circuit breaker of that process is not closed, because of failures.
 * - It answers, although another process has found that it fails.
 */
export interface Finding {
  readonly isFailing: boolean;
  /** With a failing bank, the only client whose inquiries fail; null when those of several do. */
  readonly clientId: string | null;
  /** How long the bank has been failing, or how long ago it last answered. */
  readonly ageMs: number;
}

/**
 * How a circuit breaker takes into account what other processes have found.
 *
 * A failing bank makes the next inquiry here a probe, but only if the bank has answered none of the processes since: a
 * process whose own way to the bank is broken must not take the bank from the others. A bank that answers another
 * process again is probed here at once.
 */
export interface SharedFindings {
  /** What this process has found and others need to know; null while there is nothing. */
  finding(nowMs: number): Finding | null;
  /** Takes what the other processes have found. Call it again while there is something. */
  learn(others: readonly Finding[], nowMs: number): void;
  /** The bank has answered another process since the breaker opened here. */
  answersOthers(): boolean;
}

/** A bank that is well answers a busy process within this time, which then needs no probe. */
const GRACE_MS = 300;

export function createSharedFindings(breaker: CircuitBreaker): SharedFindings {
  /** Since when the bank fails other processes, as the latest of them has found; -Infinity when it fails none. */
  let failingSinceMs = Number.NEGATIVE_INFINITY;
  /** When the bank last answered another process. */
  let answeredMs = Number.NEGATIVE_INFINITY;
  /** When it was first found that the bank may fail here too. */
  let doubtedMs: number | null = null;

  return {
    finding(nowMs) {
      const failing = breaker.failing();
      if (failing !== null) return { isFailing: true, clientId: failing.clientId, ageMs: nowMs - failing.sinceMs };
      const lastSuccessMs = breaker.lastSuccessMs();
      if (failingSinceMs === Number.NEGATIVE_INFINITY || lastSuccessMs <= failingSinceMs) return null;
      return { isFailing: false, clientId: null, ageMs: nowMs - lastSuccessMs };
    },
    learn(others, nowMs) {
      const latest = latestOf(others.filter(({ isFailing }) => isFailing));
      failingSinceMs = latest === null ? Number.NEGATIVE_INFINITY : nowMs - latest.ageMs;
      const answered = latestOf(others.filter(({ isFailing }) => !isFailing));
      answeredMs = answered === null ? Number.NEGATIVE_INFINITY : nowMs - answered.ageMs;
      breaker.allowProbe(answeredMs);
      if (latest === null || Math.max(answeredMs, breaker.lastSuccessMs()) > failingSinceMs) {
        doubtedMs = null;
        breaker.trust();
        return;
      }
      doubtedMs ??= nowMs;
      if (nowMs - doubtedMs >= GRACE_MS) breaker.suspect(latest.clientId);
    },
    answersOthers() {
      const failing = breaker.failing();
      return failing !== null && answeredMs > failing.sinceMs;
    },
  };
}

const latestOf = (findings: readonly Finding[]): Finding | null =>
  findings.reduce<Finding | null>(
    (latest, each) => (latest === null || each.ageMs < latest.ageMs ? each : latest),
    null,
  );
