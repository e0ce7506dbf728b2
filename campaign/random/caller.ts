import { setTimeout as delay } from 'node:timers/promises';
import { errors, Pool } from 'undici';
import type { Draws } from './draws.ts';
import { type AnswerJudge, judgeAnswer, type RawAnswer } from './judge-answer.ts';
import type { ServiceProcess } from './service.ts';

/** Calls the service as its clients and its operator do, and judges every answer. */
export interface Caller {
  /** Calls one of the processes; null when the connection failed, so that it may have been done or not. */
  call(request: CallerRequest): Promise<RawAnswer | null>;
  /** Repeats the call, as clients do, until it is answered with anything but 429 and 503; null when `signal` aborts. */
  repeat(request: CallerRequest, signal: AbortSignal): Promise<RepeatedAnswer | null>;
  close(): Promise<void>;
}

export interface CallerRequest {
  readonly method?: 'GET' | 'POST' | 'PATCH';
  readonly target: string;
  readonly listener?: 'public' | 'operator';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Chooses the process; by default any that is up. */
  readonly process?: CallTarget;
  /** Ends the request: for streams, which last as long as their transaction is in PROCESS. */
  readonly signal?: AbortSignal;
}

/** A process of the service, or a proxy in front of several. */
export type CallTarget = Pick<ServiceProcess, 'name' | 'url' | 'operatorUrl' | 'isUp'>;

export interface EndedCall {
  readonly request: CallerRequest;
  /** Null when the connection failed. */
  readonly answer: RawAnswer | null;
  /** On the clock of `performance.now()`. */
  readonly startedMs: number;
}

export interface CallerOptions extends AnswerJudge {
  /** Called after each call. */
  readonly onEnd?: (call: EndedCall) => void;
}

export interface RepeatedAnswer extends RawAnswer {
  /** Calls before it failed, so that they may have been done or not. */
  readonly wasRepeated: boolean;
}

/** Far beyond every deadline of the service. */
const ANSWER_MS_MAX = 30_000;
const PAUSE_MS = 100;
const CONNECTIONS = 64;

export function createCaller(processes: readonly CallTarget[], draws: Draws, judge: CallerOptions): Caller {
  const pools = new Map<string, Pool>();
  const poolOf = (url: string): Pool =>
    pools.getOrInsertComputed(url, () => {
      const timeouts = { headersTimeout: ANSWER_MS_MAX, bodyTimeout: ANSWER_MS_MAX, connectTimeout: ANSWER_MS_MAX };
      return new Pool(url, { connections: CONNECTIONS, ...timeouts });
    });

  async function call(request: CallerRequest): Promise<RawAnswer | null> {
    const { method = 'GET', target, listener = 'public', headers = {}, body, signal } = request;
    const up = processes.filter((each) => each.isUp());
    const process = request.process ?? draws.pick(up.length > 0 ? up : processes);
    const pool = poolOf(listener === 'public' ? process.url : process.operatorUrl);
    const name = `${method} ${target} of ${process.name}`;
    const startedMs = performance.now();
    try {
      const response = await pool.request({
        path: target,
        method,
        headers,
        body: body ?? null,
        signal: signal ?? null,
      });
      const text = await response.body.text();
      const answer = { status: response.statusCode, headers: response.headers, text };
      judge.record.count('requests of the workload');
      judgeAnswer(answer, name, target, judge);
      judge.onEnd?.({ request, answer, startedMs });
      return answer;
    } catch (error) {
      judge.onEnd?.({ request, answer: null, startedMs });
      if (error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError)
        judge.record.wrong(`a request is not answered within ${ANSWER_MS_MAX} ms`, name);
      return null;
    }
  }

  return {
    call,
    async repeat(request, signal) {
      let wasRepeated = false;
      while (!signal.aborted) {
        const answer = await call(request);
        if (answer !== null && answer.status !== 429 && answer.status !== 503) return { ...answer, wasRepeated };
        // After a 503 too, the work may have been done: PostgreSQL may have been lost after the commit.
        wasRepeated = true;
        await delay(PAUSE_MS, undefined, { signal }).catch(() => {});
      }
      return null;
    },
    close: async () => void (await Promise.all([...pools.values()].map((pool) => pool.destroy()))),
  };
}
