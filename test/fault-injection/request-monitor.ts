import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../support/eventually.ts';
import type { Answer, TestService } from '../support/service.ts';
import { bound } from '../support/suite-environment.ts';

/** How long an answer may take whatever the weather, and what a busy machine adds. */
const ANSWERED_WITHIN_MS = bound(3_000 + 100);
export const RECOVERED_WITHIN_MS = bound(2_000);
/** Once the service knows of the weather, nobody waits for a deadline: half a second, and what a busy machine adds. */
export const FAST_FAILURE_WITHIN_MS = bound(1_000);

export interface TimedAnswer {
  readonly answer: Answer;
  /** performance.now() */
  readonly startedMs: number;
  readonly tookMs: number;
}

export async function timeRequest(ask: () => Promise<Answer>): Promise<TimedAnswer> {
  const startedMs = performance.now();
  const answer = await ask();
  return { answer, startedMs, tookMs: performance.now() - startedMs };
}

/** Asks over and over, several at a time, until stopped, with the test at the latest. */
export function requestContinuously(
  t: TestContext,
  ask: () => Promise<Answer>,
  atATime = 8,
): { stop(): Promise<TimedAnswer[]> } {
  const stopping = new AbortController();
  const observed: TimedAnswer[] = [];
  const asking = Array.from({ length: atATime }, async () => {
    while (!stopping.signal.aborted) {
      observed.push(await timeRequest(ask));
      // As fast as they can, refusals would leave no time for anything else in this process.
      await delay(5);
    }
  });
  const asked = Promise.all(asking);
  // Whoever stops it hears of what went wrong.
  asked.catch(() => {});
  t.after(() => {
    stopping.abort();
    return asked;
  });
  return {
    async stop() {
      stopping.abort();
      await asked;
      return observed;
    },
  };
}

/** 503 as the contract has it: the envelope, no more and no less, and when to come back. */
export function assertUnavailable({ answer, tookMs }: TimedAnswer): void {
  assert.equal(answer.status, 503, answer.text);
  assert.deepEqual(Object.keys(answer.json), ['success', 'message', 'error_code']);
  assert.deepEqual([answer.json.success, answer.json.error_code], [false, 'SERVICE_UNAVAILABLE']);
  assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  // It says what to do.
  assert.match(answer.json.message, /repeat the request|send the whole feed again/);
  assert.ok(tookMs < ANSWERED_WITHIN_MS, `answered after ${Math.round(tookMs)} ms`);
}

/** Every answer was either right or 503. */
export function assertRightOrUnavailable(observed: readonly TimedAnswer[]): { readonly unavailable: number } {
  const refused = observed.filter(({ answer }) => answer.status !== 200);
  for (const each of refused) assertUnavailable(each);
  return { unavailable: refused.length };
}

/** Asks until it is answered with 200; fails when that takes longer than a recovery may. */
export async function assertRecovers(ask: () => Promise<Answer>): Promise<void> {
  const deadline = performance.now() + RECOVERED_WITHIN_MS;
  for (;;) {
    const observed = await timeRequest(ask);
    if (observed.answer.status === 200) return;
    assertUnavailable(observed);
    assert.ok(
      performance.now() < deadline,
      `not within ${RECOVERED_WITHIN_MS} ms; the last answer: ${observed.answer.text}`,
    );
    await delay(10);
  }
}

export const until = (what: string, condition: () => Promise<boolean>, withinMs = 5_000): Promise<void> =>
  eventually(what, condition, withinMs);

/** The status of an address of the operator listener. */
export const probeStatus = async (service: TestService, address: '/livez' | '/readyz'): Promise<number> =>
  (await fetch(service.operatorUrl + address)).status;
