import { within } from '../../lib/within.ts';

/** How sending a batch ended. `rejected`: how many of its spans the collector did not want. */
export type SendResult =
  | { readonly kind: 'taken'; readonly rejected: number }
  /** Sending it again does not help. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The collector is away or busy. */
  | { readonly kind: 'unavailable'; readonly reason: string };

export interface SpanQueueOptions<S> {
  /** Sends one batch at a time. Must end by itself, and never rejects. */
  readonly send: (batch: readonly S[]) => Promise<SendResult>;
  readonly count: (outcome: 'exported' | 'dropped', spans: number) => void;
  /** Null: the collector takes spans again. Called when this changes. */
  readonly onChange: (failure: string | null) => void;
}

/** Spans on their way to a collector that may be slow, or away. */
export interface SpanQueue<S> {
  /** Drops the span when the queue is full: a request never waits for the collector. */
  add(span: S): void;
  /** Sends what is queued, for a limited time; then drops the rest. */
  close(): Promise<void>;
}

/** Some megabytes at most: a span has about twenty short attributes. */
const QUEUED_MAX = 2_048;
const BATCH_MAX = 512;
const SEND_INTERVAL_MS = 1_000;
/** Spans wait for a collector that restarts; a longer outage fills the queue, and the latest are dropped. */
const CLOSE_TIMEOUT_MS = 3_000;

export function createSpanQueue<S>({ send, count, onChange }: SpanQueueOptions<S>): SpanQueue<S> {
  const queued: S[] = [];
  let sending: Promise<boolean> | null = null;
  let failure: string | null = null;
  let isClosed = false;

  /** Returns whether the next batch may be sent at once. */
  async function sendBatch(): Promise<boolean> {
    const batch = queued.slice(0, BATCH_MAX);
    const result = await send(batch);
    if (isClosed) return false;
    const reason = result.kind === 'taken' ? null : result.reason;
    if ((reason === null) !== (failure === null)) onChange(reason);
    failure = reason;
    if (result.kind === 'unavailable') return false;
    queued.splice(0, batch.length);
    const rejected = result.kind === 'refused' ? batch.length : Math.min(result.rejected, batch.length);
    if (batch.length > rejected) count('exported', batch.length - rejected);
    if (rejected > 0) count('dropped', rejected);
    return result.kind === 'taken' && queued.length > 0;
  }

  async function sendAll(): Promise<boolean> {
    let goesOn = queued.length > 0;
    while (goesOn) goesOn = await sendBatch();
    return queued.length === 0;
  }

  /** One at a time: the caller that comes meanwhile gets the same. Resolves with whether all were sent. */
  function flush(): Promise<boolean> {
    sending ??= sendAll().finally(() => (sending = null));
    return sending;
  }

  const timer = setInterval(() => void flush(), SEND_INTERVAL_MS).unref();
  return {
    add(span) {
      if (queued.length >= QUEUED_MAX || isClosed) count('dropped', 1);
      else queued.push(span);
    },
    async close() {
      clearInterval(timer);
      // Again, because the sending in progress may not include the latest spans.
      await within(flush().then(flush), CLOSE_TIMEOUT_MS, undefined);
      isClosed = true;
      if (queued.length > 0) count('dropped', queued.length);
      queued.length = 0;
    },
  };
}
