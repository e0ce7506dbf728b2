/** Which traces are recorded. The names are those of OTEL_TRACES_SAMPLER. */
export interface Sampling {
  /** The share of the traces that begin here, from 0 to 1. */
  readonly ratio: number;
  /** Whether a trusted caller's decision about its own trace is followed. */
  readonly followsParent: boolean;
}

export interface ParentContext {
  readonly traceId: string;
  readonly isSampled: boolean;
}

/** Hexadecimal digits of a trace ID that are random (W3C Trace Context level 2, "random-trace-id"). */
const RANDOM_DIGITS = 13;
const RANDOM_RANGE = 16 ** RANDOM_DIGITS;

/** Decides before a span is made. `random` is from 0 to below 1. */
export function createSampler(
  { ratio, followsParent }: Sampling,
  random: () => number,
): (parent: ParentContext | undefined) => boolean {
  return (parent) => {
    if (parent === undefined) return random() < ratio;
    if (followsParent) return parent.isSampled;
    // By the trace ID, so that all services with this ratio record the same traces.
    return Number.parseInt(parent.traceId.slice(-RANDOM_DIGITS), 16) / RANDOM_RANGE < ratio;
  };
}
