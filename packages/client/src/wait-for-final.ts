import { backoffMs, retryAfterMs } from './backoff.ts';
import type { AnswerDetails } from './call.ts';
import { anyKey, type FinalTransactions, isFinal, rememberFinal } from './check-status.ts';
import { type Clock, pause } from './clock.ts';
import { startDeadline } from './deadline.ts';
import { parseExact } from './decimal.ts';
import { TibaError } from './errors.ts';
import type { Transaction } from './generated/api.ts';
import { readEventData, readLines, SILENT_MS_MAX } from './lines.ts';
import { detailsOf, isProxyError, PASSING, parseEnvelope, type Transport } from './transport.ts';

export interface WaitOptions {
  /** When to give up. 5 minutes from now unless given; some banks need 30 minutes. */
  readonly deadline?: Date | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface WaitDependencies {
  readonly transport: Transport;
  readonly finals: FinalTransactions;
  readonly clock: Clock;
  readonly random: () => number;
}

export type WaitForFinal = (id: string, options?: WaitOptions) => Promise<Transaction>;

/** The pace of the contract (docs/contract.md 8.1): every 10 s, up to 30 times; after that every few minutes. */
const POLL_MS = 10_000;
const POLLS_MAX = 30;
const LATER_POLL_MS = 180_000;
const DEFAULT_WAIT_MS = POLL_MS * POLLS_MAX;
/** `Retry-After` may make the pace slower, up to this. */
const POLL_MS_MAX = 60_000;

/** The service sends the current state at once. If it does not arrive, something on the way holds streams back. */
const FIRST_STATE_MS_MAX = 10_000;
/** A request that fails after this time was accepted and cut off: the way may be at fault, not the connection. */
const CUT_OFF_AFTER_MS = 5_000;
/** A way whose requests end this often in a row before that time does not work here. */
const CUT_OFF_TIMES_MAX = 3;
/** One request may take this long: longer than the service lets a stream take. */
const HELD_OPEN_MS_MAX = 11 * 60_000;
const POLL_TIMEOUT_MS = 30_000;

/** The ways to wait. A service that cannot stream reads `Prefer` (RFC 7240), and one that knows neither answers. */
const HEADERS_OF = {
  stream: { accept: 'text/event-stream, application/json;q=0.9', prefer: 'wait=30' },
  wait: { accept: 'application/json', prefer: 'wait=30' },
  poll: { accept: 'application/json' },
} as const;
type Way = keyof typeof HEADERS_OF;
const NEXT_WAY = { stream: 'wait', wait: 'poll', poll: 'poll' } as const satisfies Record<Way, Way>;

interface Progress {
  way: Way;
  polls: number;
  /** Requests in a row that failed. */
  failures: number;
  latest: Transaction | null;
}

/** One request. `onState` is called with each state as it arrives. */
type LookNow = (way: Way, onState: (transaction: Transaction) => void) => Promise<Look>;

/** What one request found. */
interface Look {
  readonly transaction: Transaction;
  readonly details: AnswerDetails;
  /** How the service answered, which may be a simpler way than the one that was wanted. */
  readonly way: Way;
}

/**
 * Waits until a transaction is `SUCCESS` or `FAILED`: by a stream, by requests that wait, or by polling, whichever
 * works between here and the service.
 */
export function createWaitForFinal(dependencies: WaitDependencies): WaitForFinal {
  const { finals, clock } = dependencies;
  /** Where streams do not get through, later calls do not try them. */
  const network = { streams: true };

  return async (id, { deadline: until, signal } = {}) => {
    const remembered = finals.find(anyKey(id));
    if (remembered !== null) return remembered.data;
    const timeoutMs = until === undefined ? DEFAULT_WAIT_MS : Math.max(0, until.getTime() - Date.now());
    const deadline = startDeadline(clock, timeoutMs, signal);
    const progress: Progress = { way: network.streams ? 'stream' : 'wait', polls: 0, failures: 0, latest: null };
    const look = createLook(dependencies, network, id, deadline.signal);
    try {
      return await follow(dependencies, progress, { look, goesOn: until !== undefined, signal: deadline.signal });
    } catch (error) {
      if (!deadline.isOver()) throw error;
      throw stillInProcess(progress, 'the deadline has passed', error);
    } finally {
      deadline.end();
    }
  };
}

interface Followed {
  readonly look: LookNow;
  /** The caller has named a deadline: after the 30 polls, check every few minutes until then. */
  readonly goesOn: boolean;
  readonly signal: AbortSignal;
}

async function follow(
  { finals, clock, random }: WaitDependencies,
  progress: Progress,
  { look, goesOn, signal }: Followed,
): Promise<Transaction> {
  for (;;) {
    const startedMs = clock.now();
    const onState = (transaction: Transaction): void => {
      progress.latest = transaction;
    };
    const seen = await look(progress.way, onState).catch((error: unknown) => {
      noteFailure(progress, error, clock.now() - startedMs);
      return null;
    });
    signal.throwIfAborted();
    if (seen !== null) {
      const { transaction, details } = seen;
      rememberFinal(finals, { data: transaction, response: details });
      if (isFinal(transaction)) return transaction;
      noteWay(progress, seen.way, clock.now() - startedMs);
    }
    if (seen?.way === 'poll') {
      progress.polls += 1;
      const isLast = progress.polls >= POLLS_MAX;
      if (isLast && !goesOn) throw stillInProcess(progress, `${POLLS_MAX} checks found it in PROCESS`);
      await pause(clock, isLast ? LATER_POLL_MS : pollMs(seen.details.headers), signal);
    } else {
      // A service that stops ends all waits at once: not all of them come back in the same moment.
      await pause(clock, backoffMs(progress.failures + 1, random), signal);
    }
  }
}

/** Stays with the way that was answered, unless it is cut off again and again. */
function noteWay(progress: Progress, way: Way, heldMs: number): void {
  progress.failures = way !== 'poll' && heldMs < CUT_OFF_AFTER_MS ? progress.failures + 1 : 0;
  progress.way = progress.failures >= CUT_OFF_TIMES_MAX ? NEXT_WAY[way] : way;
}

const pollMs = (headers: Headers): number => Math.min(Math.max(retryAfterMs(headers) ?? 0, POLL_MS), POLL_MS_MAX);

/** Decides how to go on after a failed request. @throws the error when another request cannot succeed */
function noteFailure(progress: Progress, error: unknown, afterMs: number): void {
  if (!(error instanceof TibaError)) throw error;
  if (error.cause instanceof StreamHeldBack) {
    progress.way = 'wait';
    return;
  }
  const byProxy = isProxyError(error);
  // The token may have been revoked or have expired on the way; the next request has a new one.
  const unauthorizedOnce = error.error_code === 'UNAUTHORIZED' && progress.failures === 0;
  if (!PASSING.includes(error.error_code) && !byProxy && !unauthorizedOnce) throw error;
  progress.failures += 1;
  const tooManyOpen = error.error_code === 'RATE_LIMIT_EXCEEDED';
  if (tooManyOpen) progress.way = 'poll';
  else if (byProxy || afterMs > CUT_OFF_AFTER_MS) progress.way = NEXT_WAY[progress.way];
}

function stillInProcess({ latest }: Progress, reason: string, cause?: unknown): TibaError {
  const operation = 'checkStatus';
  if (latest === null) {
    const message = `${reason}, and no check was answered: \`cause\` says why. Check again later`;
    return new TibaError({ error_code: 'TIMEOUT', operation, message, cause });
  }
  const message = `${reason}. It has not failed: do not pay again. Check again later, or use callbacks`;
  return new TibaError({ error_code: 'STILL_IN_PROCESS', operation, transaction: latest, message, cause });
}

/** The headers of a stream arrived, and its first event did not. */
class StreamHeldBack extends Error {}

function createLook(
  { transport, clock }: WaitDependencies,
  network: { streams: boolean },
  id: string,
  signal: AbortSignal,
): LookNow {
  /** The last state before the stream ended, or broke. */
  async function readStream(
    response: Response,
    streamSignal: AbortSignal,
    onState: (transaction: Transaction) => void,
  ): Promise<Look> {
    const details = detailsOf(response, '');
    let transaction: Transaction | null = null;
    const silentMsMax = (): number => (transaction === null ? FIRST_STATE_MS_MAX : SILENT_MS_MAX);
    const lines = readLines(response.body ?? new ReadableStream(), { clock, signal: streamSignal, silentMsMax });
    try {
      for await (const data of readEventData(lines)) {
        transaction = parseExact(data) as Transaction;
        onState(transaction);
        if (isFinal(transaction)) break;
      }
    } catch (error) {
      streamSignal.throwIfAborted();
      if (transaction === null) {
        network.streams = false;
        throw new StreamHeldBack('no event', { cause: error });
      }
    }
    if (transaction === null) throw new StreamHeldBack('no event');
    return { transaction, details, way: 'stream' };
  }

  async function readOnce(response: Response, onState: (transaction: Transaction) => void): Promise<Look> {
    const { data, message } = parseEnvelope('checkStatus', response, await response.text());
    onState(data as Transaction);
    const way = response.headers.has('preference-applied') ? 'wait' : 'poll';
    return { transaction: data as Transaction, details: detailsOf(response, message), way };
  }

  return (way, onState) =>
    transport.read(
      {
        operation: 'checkStatus',
        path: { transaction_id: id },
        headers: HEADERS_OF[way],
        heldOpen: way !== 'poll',
        once: true,
      },
      { signal, timeoutMs: way === 'poll' ? POLL_TIMEOUT_MS : HELD_OPEN_MS_MAX },
      (response, deadline) =>
        response.headers.get('content-type')?.startsWith('text/event-stream') === true
          ? readStream(response, deadline.signal, onState)
          : readOnce(response, onState),
    );
}
