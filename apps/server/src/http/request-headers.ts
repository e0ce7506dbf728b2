/** More elements than any program sends, and more parameters. */
const ELEMENTS_MAX = 32;
const PARAMETERS_MAX = 8;

/**
 * The elements of a list (RFC 9110, section 5.6.1), of which the first 32 count: all headers together may have 16 KiB,
 * and thousands of elements would take milliseconds, also in requests of strangers.
 */
export const elementsOf = (header: string): readonly string[] => header.split(',', ELEMENTS_MAX);

/** What stands between the semicolons of an element: its value, then its parameters. */
export const partsOf = (element: string): readonly string[] =>
  element.split(';', PARAMETERS_MAX).map((part) => part.trim());

const JSON_RANGES = ['application/json', 'application/*', '*/*'];

/**
 * Whether `Accept` admits JSON (RFC 9110, section 12.5.1): the most specific range that matches decides, and a weight
 * of 0 excludes.
 */
export function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept === 'application/json' || accept === '*/*') return true;
  return weightOf(JSON_RANGES, accept) > 0;
}

/**
 * Which of these types `Accept` prefers to JSON; null for none. A type must be named to be chosen: a client that
 * accepts anything gets JSON.
 */
export function preferredType<Type extends string>(accept: string | undefined, types: readonly Type[]): Type | null {
  if (accept === undefined || accept === '*/*') return null;
  const jsonWeight = weightOf(JSON_RANGES.slice(0, 1), accept);
  const [best] = types
    .map((type) => ({ type, weight: weightOf([type], accept) }))
    .filter(({ weight }) => weight > 0 && weight >= jsonWeight)
    .sort((one, other) => other.weight - one.weight);
  return best?.type ?? null;
}

function weightOf(ranges: readonly string[], accept: string): number {
  const weights = new Map<string, number>();
  for (const element of elementsOf(accept.toLowerCase())) {
    const [range = '', ...parameters] = partsOf(element);
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    weights.set(range, weight === undefined ? 1 : Number.parseFloat(weight));
  }
  const decisive = ranges.find((range) => weights.has(range));
  return decisive === undefined ? 0 : (weights.get(decisive) ?? 0);
}

/** Whether `Accept-Encoding` admits gzip (RFC 9110, section 12.5.3). Without the header, the body is not compressed. */
export const acceptsGzip = (acceptEncoding: string | undefined): boolean =>
  acceptEncoding !== undefined && weightOf(['gzip', '*'], acceptEncoding) > 0;

/** Whether If-None-Match names the tag (RFC 9110, section 13.1.2: compared weakly, so `W/` makes no difference). */
export const matchesEntityTag = (ifNoneMatch: string, tag: string): boolean =>
  elementsOf(ifNoneMatch).some((each) => {
    const text = each.trim();
    return text === '*' || text === tag || text === `W/${tag}`;
  });

/** A connection is not held for longer than proxies commonly allow. */
const WAIT_SECONDS_MAX = 60;

const WAIT = /^wait\s*=\s*"?(\d{1,9})"?$/i;

/**
 * The seconds of `Prefer: wait=N`, at most 60; null where there is no such preference. Preferences that are not
 * understood are ignored, and of one that is given twice the first counts (RFC 7240, section 2).
 */
export function waitSeconds(prefer: string | string[] | undefined): number | null {
  if (prefer === undefined) return null;
  for (const preference of elementsOf(String(prefer))) {
    const [text = ''] = preference.split(';', 1);
    const seconds = WAIT.exec(text.trim())?.[1];
    if (seconds !== undefined) return Math.min(Number(seconds), WAIT_SECONDS_MAX);
  }
  return null;
}

const MAX_AGE = /^max-age\s*=\s*"?(\d{1,9})"?$/i;

/**
 * The `max-age` of a request's Cache-Control in seconds (RFC 9111, section 5.2.1.1); 0 without it, and with `no-cache`
 * or `no-store`. Directives that are not understood are ignored.
 */
export function acceptedAgeSeconds(cacheControl: string | undefined): number {
  if (cacheControl === undefined) return 0;
  let seconds = 0;
  for (const directive of elementsOf(cacheControl)) {
    const text = directive.trim();
    if (/^no-(?:cache|store)$/i.test(text)) return 0;
    seconds = Number(MAX_AGE.exec(text)?.[1] ?? seconds);
  }
  return seconds;
}
