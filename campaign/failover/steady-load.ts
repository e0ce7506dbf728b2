import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Finding, Verdict } from '../part.ts';
import { checkAccounts } from '../random/account-checker.ts';
import { validateInBulk } from '../random/bulk-validator.ts';
import { judgeCallbacks, registerEndpoints } from '../random/callbacks.ts';
import { type CallTarget, createCaller, type EndedCall } from '../random/caller.ts';
import { logIn, OWNERS } from '../random/clients.ts';
import { createDraws } from '../random/draws.ts';
import { readEvents } from '../random/events-reader.ts';
import { feedTransactions } from '../random/feeder.ts';
import { judgeDatabase, judgeEveryStatus } from '../random/judge-database.ts';
import type { CampaignRecord } from '../random/record.ts';
import { makeDeliveriesDue, untilUp } from '../random/round.ts';
import type { RoundContext } from '../random/round-context.ts';
import type { ServiceProcess } from '../random/service.ts';
import { readOne, readStatuses } from '../random/status-reader.ts';
import type { Surroundings } from '../random/surroundings.ts';
import { sendOtherRequests } from './other-requests.ts';

/** Requests of all kinds for as long as the part wants, and a judgment of all of them at its end. */
export interface SteadyLoad {
  readonly context: RoundContext;
  requests(): number;
  failures(): number;
  /** Ends the load, and judges what is stored, listed and called back. */
  end(): Promise<void>;
}

export interface SteadyLoadOptions {
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly surroundings: Surroundings;
  readonly processes: readonly ServiceProcess[];
  /** Where requests go. By default to any process. */
  readonly target?: CallTarget;
  /** Whether a request that was sent then, and ends now, may fail. */
  readonly mayFail: (startedMs: number) => boolean;
  /** Called after each call that did not fail. */
  readonly onAnswer?: (call: EndedCall) => void;
  /** To the database that is judged at the end. By default that of the surroundings. */
  readonly connection?: () => pg.ClientConfig;
  /**
   * Counts callbacks that are sent twice as wrong, and so leaves deliveries to their schedule at the end: made due at
   * once, those in flight would be sent by another process too.
   */
  readonly sendsCallbacksOnce?: boolean;
}

/** Status checks a second, without waiting for the answers. The rest of the load comes on top: some 100 a second. */
const STATUS_CHECKS_PER_SECOND = 420;
const TICK_MS = 10;
const FEEDERS = 2;
const READERS = 6;
const CHECKERS = 3;
const READY_MS_MAX = 60_000;
const SETTLE_MS_MAX = 90_000;

/** Resolves when the load has begun. */
export async function openLoad(options: SteadyLoadOptions, closers: AsyncDisposableStack): Promise<SteadyLoad> {
  const { seed, signal, surroundings, processes, target, mayFail, onAnswer } = options;
  const { record, canaries, secrets, known, receiver, limits } = surroundings;
  const { connection = () => surroundings.connection, sendsCallbacksOnce = false } = options;
  const makeDue = sendsCallbacksOnce ? async () => {} : () => makeDeliveriesDue(connection());
  let requests = 0;
  let failures = 0;
  const caller = createCaller(target === undefined ? processes : [target], createDraws(seed, 'caller'), {
    record,
    canaries,
    onEnd(call) {
      const { request, answer, startedMs } = call;
      requests += 1;
      if (answer !== null && answer.status < 500) return onAnswer?.(call);
      // The load itself ended it.
      const isCancelled = answer === null && request.signal?.aborted === true;
      if (isCancelled || mayFail(startedMs)) return;
      failures += 1;
      const details = `${request.method ?? 'GET'} ${request.target}: ${answer?.status} ${answer?.text.slice(0, 300)}`;
      record.wrong('a request failed', details);
    },
  });
  closers.defer(() => caller.close());
  await untilUp(processes, AbortSignal.timeout(READY_MS_MAX));
  const tokens = await logIn(caller, secrets, canaries);
  const load = new AbortController();
  const loadEnds = AbortSignal.any([signal, load.signal]);
  const settle = new AbortController();
  const context: RoundContext = {
    seed,
    record,
    canaries,
    processes,
    caller,
    tokens,
    known,
    limits,
    loadEnds,
    onlyVerdicts: true,
    settleEnds: settle.signal,
  };
  const endpoints = await registerEndpoints(context, receiver);
  const startedMs = performance.now();
  const playing = play(context);
  return {
    context,
    requests: () => requests,
    failures: () => failures,
    async end() {
      const seconds = (performance.now() - startedMs) / 1_000;
      record.count('requests a second', Math.round(requests / seconds));
      load.abort();
      AbortSignal.timeout(SETTLE_MS_MAX).addEventListener('abort', () => settle.abort());
      const judges = await playing;
      for (const judge of judges) await judge();
      await judgeEveryStatus(context);
      await judgeDatabase(context, connection());
      await judgeCallbacks(context, receiver, endpoints, makeDue);
      const repeated = receiver.repeated();
      record.count('callbacks sent again', repeated.length);
      if (sendsCallbacksOnce)
        for (const each of repeated) record.wrong('a callback was sent twice', JSON.stringify(each));
      record.count('failed requests', failures);
    },
  };
}

type Judge = () => Promise<void>;

/** Runs the load until it ends; resolves with what judges its results. */
async function play(context: RoundContext): Promise<readonly Judge[]> {
  const repeat = <T>(count: number, start: (number: number) => Promise<T>): Promise<T>[] =>
    Array.from({ length: count }, (_, number) => start(number));
  const judges = Promise.all([validateInBulk(context), ...OWNERS.map((owner) => readEvents(context, owner))]);
  await Promise.all([
    offerStatusChecks(context),
    ...repeat(FEEDERS, (number) => feedTransactions(context, number)),
    ...repeat(READERS, (number) => readStatuses(context, number)),
    ...repeat(CHECKERS, (number) => checkAccounts(context, number)),
    sendOtherRequests(context),
    judges,
  ]);
  return judges;
}

/** Status checks at a rate: those that are due are sent, however many are not answered yet. */
async function offerStatusChecks(context: RoundContext): Promise<void> {
  const { known, loadEnds } = context;
  const draws = createDraws(context.seed, 'steady status checks');
  const inFlight = new Set<Promise<void>>();
  const startedMs = performance.now();
  let sent = 0;
  while (!loadEnds.aborted) {
    const due = Math.floor(((performance.now() - startedMs) / 1_000) * STATUS_CHECKS_PER_SECOND);
    for (; sent < due; sent += 1) {
      if (known.all.length === 0) continue;
      const check = readOne(context, draws.pick(known.all), draws.pick(['path', 'reference path', 'query'] as const));
      inFlight.add(check);
      void check.finally(() => inFlight.delete(check));
    }
    await delay(TICK_MS);
  }
  await Promise.all(inFlight);
}

export function verdictOf({ counts, findings }: CampaignRecord, seed: number): Verdict {
  const sorted = [...counts].sort(([one], [other]) => (one < other ? -1 : 1));
  return { findings: findings.map((what): Finding => ({ what, seed })), figures: Object.fromEntries(sorted) };
}
