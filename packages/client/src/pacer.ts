import { type Clock, untilAborted } from './clock.ts';

/**
 * Keeps requests within the limits that the service states (`RateLimit-Policy` and `RateLimit`, docs/contract.md 8.2),
 * so that they are not refused.
 *
 * The service counts a request when it arrives: later than it was sent and earlier than its answer came. So a request
 * leaves its window here a whole window after its answer, and the next one is sent then at the earliest.
 */
export interface Pacer {
  /** The time until a request could be sent at the earliest; 0 when it may be sent now, as far as is known. */
  waitMs(limit: string): number;
  /** Resolves when the request may be sent: in the order of the calls. */
  acquire(limit: string, request: PacedRequest, signal: AbortSignal): Promise<Permit>;
}

export interface PacedRequest {
  /** As how many requests the service counts it. */
  readonly cost: number;
  /** The service counts it when it arrives, and may answer much later. */
  readonly heldOpen: boolean;
}

export interface Permit {
  /** Must be called once: with the answer, or with null when there was none. */
  done(answer: { readonly status: number; readonly headers: Headers } | null): void;
}

/** Two clocks never run equally fast. */
const MARGIN_MS = 50;
/** A request that the service holds open was counted within this time. */
const ARRIVAL_MS_MAX = 5_000;
/** While the limit is not known, the next request follows one that is held open after this time. */
const LEARNING_MS_MAX = 1_000;
/** Requests are counted in steps of this time, which bounds what a high limit takes of memory. */
const STEP_MS = 50;

interface Counted {
  readonly atMs: number;
  cost: number;
}

interface Waiter {
  readonly request: PacedRequest;
  readonly admit: () => void;
}

class Window {
  /** Requests in `windowMs`; undefined until an answer states it, null when the last answer stated none. */
  limit: number | null | undefined = undefined;
  windowMs = 60_000;
  inFlight = 0;
  /** When the last request was sent that is still open and that the service holds open. */
  heldOpenSinceMs: number | null = null;
  counted: Counted[] = [];
  waiters: Waiter[] = [];
  cancelTimer: () => void = () => undefined;

  count(sinceMs: number, cost: number): void {
    const atMs = Math.ceil(sinceMs / STEP_MS) * STEP_MS;
    const index = this.counted.findLastIndex((counted) => counted.atMs <= atMs);
    const before = this.counted[index];
    if (before?.atMs === atMs) before.cost += cost;
    else this.counted.splice(index + 1, 0, { atMs, cost });
  }

  /**
   * The service says when the next request leaves its window. Here that may be later: what other processes of the
   * client have sent is counted from the answer that told of it.
   */
  expectRoom(atMs: number, nowMs: number): void {
    this.drop(nowMs);
    const [first] = this.counted;
    // So much earlier that it is not one that was counted here when its answer came.
    if (first === undefined || first.atMs + this.windowMs <= atMs + ARRIVAL_MS_MAX) return;
    first.cost -= 1;
    if (first.cost === 0) this.counted.shift();
    this.count(atMs - this.windowMs, 1);
  }

  drop(nowMs: number): void {
    this.counted = this.counted.filter(({ atMs }) => atMs + this.windowMs > nowMs);
  }

  /** When a request of this cost may be sent; null when that depends on an answer that has not come yet. */
  freeAtMs(cost: number, nowMs: number): number | null {
    if (this.limit === undefined) {
      // The first request learns the limit. One that is held open may take long to do so.
      if (this.inFlight === 0) return nowMs;
      return this.heldOpenSinceMs === null ? null : this.heldOpenSinceMs + LEARNING_MS_MAX;
    }
    if (this.limit === null) return nowMs;
    this.drop(nowMs);
    let free = this.limit - this.inFlight - this.counted.reduce((sum, counted) => sum + counted.cost, 0);
    // What costs more than the limit is sent when nothing else counts: the service says what is wrong with it.
    const needed = Math.min(cost, this.limit);
    if (free >= needed) return nowMs;
    for (const { atMs, cost: released } of this.counted) {
      free += released;
      if (free >= needed) return atMs + this.windowMs;
    }
    return null;
  }
}

export function createPacer(clock: Clock): Pacer {
  const windows = new Map<string, Window>();

  function windowOf(limit: string): Window {
    const window = windows.get(limit) ?? new Window();
    windows.set(limit, window);
    return window;
  }

  function drain(window: Window): void {
    window.cancelTimer();
    for (;;) {
      const [first] = window.waiters;
      if (first === undefined) return;
      const nowMs = clock.now();
      const freeAtMs = window.freeAtMs(first.request.cost, nowMs);
      if (freeAtMs === null) return;
      if (freeAtMs > nowMs) {
        window.cancelTimer = clock.setTimer(() => drain(window), Math.max(1, freeAtMs - nowMs));
        return;
      }
      window.waiters.shift();
      first.admit();
    }
  }

  function send(window: Window, { cost, heldOpen }: PacedRequest): Permit {
    const sentMs = clock.now();
    window.inFlight += cost;
    window.heldOpenSinceMs = heldOpen ? sentMs : null;
    return {
      done(answer) {
        window.inFlight -= cost;
        const nowMs = clock.now();
        const atMs = heldOpen ? Math.min(nowMs, sentMs + ARRIVAL_MS_MAX) : nowMs;
        learn(window, { answer, cost, sentMs, atMs, nowMs });
        drain(window);
      },
    };
  }

  return {
    waitMs: (limit) => Math.max(0, (windowOf(limit).freeAtMs(1, clock.now()) ?? 0) - clock.now()),
    acquire(limit, request, signal) {
      const window = windowOf(limit);
      return untilAborted(signal, (resolve) => {
        const waiter = { request, admit: () => resolve(send(window, request)) };
        window.waiters.push(waiter);
        drain(window);
        return () => {
          window.waiters = window.waiters.filter((each) => each !== waiter);
          drain(window);
        };
      });
    },
  };
}

interface Sent {
  readonly answer: { readonly status: number; readonly headers: Headers } | null;
  readonly cost: number;
  readonly sentMs: number;
  readonly atMs: number;
  readonly nowMs: number;
}

/** Counts a request that has ended, and what other processes of the same client have sent meanwhile. */
function learn(window: Window, { answer, cost, sentMs, atMs, nowMs }: Sent): void {
  const policy = answer?.headers.get('ratelimit-policy') ?? '';
  const limit = parameter(policy, 'q');
  if (limit === null) {
    // A request without an answer may have been counted. An answer without a limit is of no limited operation.
    if (answer === null) window.count(atMs, cost);
    else if (answer.status < 400) window.limit = null;
    return;
  }
  window.limit = limit;
  window.windowMs = (parameter(policy, 'w') ?? 60) * 1_000 + MARGIN_MS;
  const stated = answer?.headers.get('ratelimit') ?? '';
  const left = parameter(stated, 'r') ?? limit;
  const refused = answer?.status === 429;
  // A refusal that leaves requests is not by this limit: it concerns one account or one connection.
  if (refused && left > 0) return;
  if (!refused) window.count(atMs, cost);
  const own = window.counted.filter((counted) => counted.atMs + window.windowMs > sentMs);
  const known = window.inFlight + own.reduce((sum, counted) => sum + counted.cost, 0);
  if (limit - known > left) window.count(nowMs, limit - known - left);
  const resetSeconds = parameter(stated, 't');
  if (resetSeconds !== null) window.expectRoom(nowMs + resetSeconds * 1_000 + MARGIN_MS, nowMs);
}

/** A parameter of an item of a structured field (RFC 9651) that is a whole number. */
function parameter(field: string, name: string): number | null {
  const [, value] = new RegExp(`;\\s*${name}=(\\d+)`).exec(field) ?? [];
  return value === undefined ? null : Number(value);
}

/** The limit that counts an operation: all operations on callbacks share one, as do both forms of check-status. */
export const limitOf = (path: string): string => {
  const [, , , resource = ''] = path.split('/');
  return resource.startsWith('callback-') ? 'callbacks' : resource;
};
