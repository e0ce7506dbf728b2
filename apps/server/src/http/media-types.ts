const JSON_RANGES = ['application/json', 'application/*', '*/*'];

/** RFC 9110, section 12.5.1: the most specific range that matches decides, and a weight of 0 excludes. */
export function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept === 'application/json' || accept === '*/*') return true;
  return weightOf(JSON_RANGES, accept) > 0;
}

/**
 * Which of these types is to be answered with instead of JSON; null for none. Only who names one gets it: what accepts
 * anything gets JSON.
 */
export function preferredOf<Type extends string>(accept: string | undefined, types: readonly Type[]): Type | null {
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
  for (const element of accept.split(',')) {
    const [range = '', ...parameters] = element.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    weights.set(range, weight === undefined ? 1 : Number.parseFloat(weight));
  }
  const decisive = ranges.find((range) => weights.has(range));
  return decisive === undefined ? 0 : (weights.get(decisive) ?? 0);
}
