import { type Decision, type Limiter, WINDOW_MS } from '../rate-limit/limiter.ts';
import { createSlidingWindow, type MonotonicClock } from '../rate-limit/sliding-window.ts';
import type { Admissions } from './restore.ts';
import type { SharedWindows, WindowReply, WindowRequest } from './shared-windows.ts';

export interface SharedLimiterDependencies {
  readonly windows: SharedWindows;
  /** Distinguishes the keys of this limiter from those of others. */
  readonly name: string;
  /** How many processes there are. Each one grants its share of a limit while Valkey is away. */
  readonly liveProcesses: () => number;
  /** Called for each decision of this process alone. */
  readonly onDecidedAlone: () => void;
  readonly windowMs?: number;
  /** Milliseconds on a clock that never jumps. */
  readonly clock: MonotonicClock;
}

/**
 * The limiter of several processes (docs/contract.md 8.3). While Valkey is away, this process decides with its own
 * window and its share of the limit, and returns at once.
 */
export function createSharedLimiter(dependencies: SharedLimiterDependencies): Limiter {
  const { windows, name, liveProcesses, onDecidedAlone, windowMs = WINDOW_MS, clock } = dependencies;
  /** All that this process has admitted, by its own decision or Valkey's. */
  const own = createSlidingWindow(clock, windowMs);
  /** The part of `own` that Valkey has not counted. */
  const uncounted = createSlidingWindow(clock, windowMs);
  const leased = windowMs === WINDOW_MS ? windows.openLeases(name) : null;
  /** The requests of this turn of the event loop, by key. */
  let open = new Map<string, OpenRequest>();

  function takeAlone(key: string, limit: number, cost: number, mayBeCounted: boolean): Decision {
    onDecidedAlone();
    const decision = own.take(key, shareOf(limit), cost);
    if (decision.admitted && !mayBeCounted) uncounted.record(key, cost);
    return decision;
  }

  function peekAlone(key: string, limit: number, cost: number): Decision {
    onDecidedAlone();
    return own.peek(key, shareOf(limit), cost);
  }

  const shareOf = (limit: number): number => Math.ceil(limit / liveProcesses());

  function requestFor(key: string, limit: number, cost: number): OpenRequest {
    const before = open.get(key);
    if (before?.isSent === false && before.limit === limit && before.cost === cost) return before;
    if (open.size === 0) setImmediate(() => (open = new Map()));
    const request = openRequest(
      `${name} ${key}`,
      { windowMs, limit, cost },
      {
        decided(admitted, total) {
          if (admitted > 0) own.record(key, admitted);
          leased?.observe(key, limit, total);
        },
        takeAlone: (mayBeCounted) => takeAlone(key, limit, cost, mayBeCounted),
        peekAlone: () => peekAlone(key, limit, cost),
      },
    );
    open.set(key, request);
    windows.decide(request);
    return request;
  }

  windows.addSource({
    all: () => named(own.admissions()),
    uncounted: () => named(uncounted.admissions()),
    onRestored: () => uncounted.clear(),
  });

  function* named(entries: Iterable<Omit<Admissions, 'windowMs'>>): Iterable<Admissions> {
    for (const { key, entries: admitted } of entries) yield { key: `${name} ${key}`, windowMs, entries: admitted };
  }

  return {
    take(key, limit, cost = 1) {
      if (limit === 0) return own.peek(key, 0);
      if (!windows.isPresent()) return takeAlone(key, limit, cost, false);
      const decision = leased?.take(key, limit, cost) ?? null;
      if (decision === null) return requestFor(key, limit, cost).take();
      own.record(key, cost);
      return decision;
    },
    peek(key, limit, cost = 1) {
      if (limit === 0) return own.peek(key, 0);
      return windows.isPresent() ? requestFor(key, limit, cost).peek() : peekAlone(key, limit, cost);
    },
  };
}

interface OpenRequest extends WindowRequest {
  take(): Promise<Decision>;
  peek(): Promise<Decision>;
}

interface OwnDecisions {
  readonly decided: (admitted: number, total: number) => void;
  readonly takeAlone: (mayBeCounted: boolean) => Decision;
  readonly peekAlone: () => Decision;
}

type Resolve = (decision: Decision) => void;

/** Requests of one key and turn, which cost the same: one decision of Valkey is about all of them. */
function openRequest(
  key: string,
  { windowMs, limit, cost }: Pick<WindowRequest, 'windowMs' | 'limit' | 'cost'>,
  own: OwnDecisions,
): OpenRequest {
  const takes: Resolve[] = [];
  const peeks: Resolve[] = [];
  const add = (resolve: Resolve): void => void takes.push(resolve);
  const addPeek = (resolve: Resolve): void => void peeks.push(resolve);
  const request: OpenRequest = {
    key,
    windowMs,
    limit,
    cost,
    times: 0,
    isSent: false,
    take() {
      request.times += 1;
      return new Promise(add);
    },
    peek: () => new Promise(addPeek),
    onDecided(reply) {
      own.decided(reply.admitted * cost, reply.total);
      for (const [index, resolve] of takes.entries()) resolve(takeDecision(reply, request, index, windowMs));
      for (const resolve of peeks) resolve(peekDecision(reply, request));
    },
    onAway(mayBeCounted) {
      for (const resolve of takes) resolve(own.takeAlone(mayBeCounted));
      for (const resolve of peeks) resolve(own.peekAlone());
    },
  };
  return request;
}

/** The decision on the request with this index among those that were decided together. */
function takeDecision(
  { admitted, total, resetMs, refusedResetMs }: WindowReply,
  { limit, cost }: WindowRequest,
  index: number,
  windowMs: number,
): Decision {
  if (index >= admitted) {
    return {
      admitted: false,
      remaining: Math.max(limit - total, 0),
      resetMs: cost > limit ? windowMs : refusedResetMs,
    };
  }
  const afterThis = total - (admitted - index - 1) * cost;
  return { admitted: true, remaining: Math.max(limit - afterThis, 0), resetMs };
}

function peekDecision(
  { total, resetMs, refusedResetMs }: WindowReply,
  { windowMs, limit, cost }: WindowRequest,
): Decision {
  const remaining = Math.max(limit - total, 0);
  if (cost > limit) return { admitted: false, remaining, resetMs: windowMs };
  return total + cost <= limit
    ? { admitted: true, remaining, resetMs }
    : { admitted: false, remaining, resetMs: refusedResetMs };
}
