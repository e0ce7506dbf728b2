import type { Clock } from './clock.ts';

/** The time of one call, and the caller's wish to stop it. Both abort the same signal. */
export interface Deadline {
  readonly signal: AbortSignal;
  remainingMs(): number;
  /** Whether the time is over, and not only the caller gone. */
  isOver(): boolean;
  /** Releases timer and listener. */
  end(): void;
}

export function startDeadline(clock: Clock, timeoutMs: number, caller: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  const endsMs = clock.now() + timeoutMs;
  let over = false;
  const cancelTimer = clock.setTimer(() => {
    over = !controller.signal.aborted;
    controller.abort(new DOMException('the time for the call is over', 'TimeoutError'));
  }, timeoutMs);
  const abort = (): void => controller.abort(caller?.reason);
  if (caller?.aborted === true) abort();
  else caller?.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    remainingMs: () => endsMs - clock.now(),
    isOver: () => over,
    end() {
      cancelTimer();
      caller?.removeEventListener('abort', abort);
    },
  };
}
