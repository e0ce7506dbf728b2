import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../support/eventually.ts';
import type { Answer, TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';

/** How long a response may take whatever the fault, plus what a busy machine adds. */
const ANSWERED_WITHIN_MS = timeLimitMs(3_000 + 100);
export const RECOVERED_WITHIN_MS = timeLimitMs(2_000);
/**
 * Once the service has detected the fault, no request waits for a deadline: half a second, plus what a busy machine
 * adds.
 */
export const FAST_FAILURE_WITHIN_MS = timeLimitMs(1_000);

export interface TimedAnswer {
  readonly answer: Answer;
  /** performance.now() */
  readonly startedMs: number;
  readonly tookMs: number;
}

export async function timeRequest(request: () => Promise<Answer>): Promise<TimedAnswer> {
  const startedMs = performance.now();
  const answer = await request();
  return { answer, startedMs, tookMs: performance.now() - startedMs };
}

/** Repeats the request, several in parallel, until it is stopped, or until the test ends. */
export function requestContinuously(
  t: TestContext,
  request: () => Promise<Answer>,
  parallel = 8,
): { stop(): Promise<TimedAnswer[]> } {
  const stopping = new AbortController();
  const answers: TimedAnswer[] = [];
  const loops = Array.from({ length: parallel }, async () => {
    while (!stopping.signal.aborted) {
      answers.push(await timeRequest(request));
      // Without a pause, fast failures would leave no time for anything else in this process.
      await delay(5);
    }
  });
  const ended = Promise.all(loops);
  // `stop` reports a failure.
  ended.catch(() => {});
  t.after(() => {
    stopping.abort();
    return ended;
  });
  return {
    async stop() {
      stopping.abort();
      await ended;
      return answers;
    },
  };
}

/** 503 as the contract defines it: the envelope without further fields, and Retry-After. */
export function assertUnavailable({ answer, tookMs }: TimedAnswer): void {
  assert.equal(answer.status, 503, answer.text);
  assert.deepEqual(Object.keys(answer.json), ['success', 'message', 'error_code']);
  assert.deepEqual([answer.json.success, answer.json.error_code], [false, 'SERVICE_UNAVAILABLE']);
  assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  // The message says what to do.
  assert.match(answer.json.message, /repeat the request|send the whole feed again/i);
  assert.ok(tookMs < ANSWERED_WITHIN_MS, `answered after ${Math.round(tookMs)} ms`);
}

/** Every response was 200, or 503 as the contract defines it. */
export function assertOkOrUnavailable(answers: readonly TimedAnswer[]): { readonly unavailable: number } {
  const failed = answers.filter(({ answer }) => answer.status !== 200);
  for (const each of failed) assertUnavailable(each);
  return { unavailable: failed.length };
}

/** Repeats the request until the response is 200; fails when that takes longer than a recovery may. */
export async function assertRecovers(request: () => Promise<Answer>): Promise<void> {
  const deadline = performance.now() + RECOVERED_WITHIN_MS;
  for (;;) {
    const timed = await timeRequest(request);
    if (timed.answer.status === 200) return;
    assertUnavailable(timed);
    assert.ok(
      performance.now() < deadline,
      `not recovered within ${RECOVERED_WITHIN_MS} ms; the last response: ${timed.answer.text}`,
    );
    await delay(10);
  }
}

export const until = (what: string, condition: () => Promise<boolean>, withinMs?: number): Promise<void> =>
  eventually(what, condition, withinMs);

/** The HTTP status of a probe of the operator listener. */
export const probeStatus = async (service: TestService, path: '/livez' | '/readyz'): Promise<number> =>
  (await fetch(service.operatorUrl + path)).status;
