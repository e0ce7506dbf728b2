const JSON_RANGES = ['application/json', 'application/*', '*/*'];
const EVENT_STREAM_RANGES = ['text/event-stream'];

/** RFC 9110, section 12.5.1: the most specific range that matches decides, and a weight of 0 excludes. */
export function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept === 'application/json' || accept === '*/*') return true;
  return weightOf(JSON_RANGES, accept) > 0;
}

/** Only who names the stream gets it: what accepts anything gets JSON. */
export function prefersEventStream(accept: string | undefined): boolean {
  if (accept === undefined || !accept.includes('text/event-stream')) return false;
  const weight = weightOf(EVENT_STREAM_RANGES, accept);
  return weight > 0 && weight >= weightOf(JSON_RANGES.slice(0, 1), accept);
}

function weightOf(ranges: readonly string[], accept: string): number {
  const weights = new Map<string, number>();
  for (const element of accept.split(',')) {
    const [range = '', ...parameters] = element.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    weights.set(range, weight === undefined ? 1 : Number.parseFloat(weight));
  }
  const decisive = ranges.find((range) => weights.has(range));
  return decisive === undefined ? 0 : (weights.get(decisive) ?? 0);
}
