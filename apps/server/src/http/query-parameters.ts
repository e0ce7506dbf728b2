import { parseInstant } from '../domain/instant.ts';
import { ApiError } from './errors.ts';

/**
 * The parameters of a URL's query by their names, as a form encodes them. Unknown ones are ignored.
 * @throws ApiError INVALID_REQUEST for one given twice, which one reader would take this way and the next one that way.
 */
export function queryParameters<Name extends string>(
  url: string,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const start = url.indexOf('?');
  const given = new URLSearchParams(start === -1 ? '' : url.slice(start + 1));
  const parameters: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const [value, ...others] = given.getAll(name);
    if (others.length > 0) throw invalidRequest(`give ${name} at most once`);
    if (value !== undefined) parameters[name] = value;
  }
  return parameters;
}

/** A whole number in digits. @throws ApiError INVALID_REQUEST */
export function wholeNumber(
  text: string | undefined,
  { name, min, max, fallback }: { name: string; min: number; max: number; fallback: number },
): number {
  if (text === undefined) return fallback;
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw invalidRequest(`${name} must be a whole number from ${min} to ${max}`);
}

/** One of some words, or null where there is none. @throws ApiError INVALID_REQUEST */
export function oneOf<Value extends string>(value: unknown, values: readonly Value[], name: string): Value | null {
  if (value === undefined) return null;
  const found = values.find((each) => each === value);
  if (found === undefined) throw invalidRequest(`${name} must be one of ${values.join(', ')}`);
  return found;
}

/** ISO 8601 UTC. @throws ApiError INVALID_REQUEST */
export function instantParameter(value: unknown, name: string): string {
  const instant = typeof value === 'string' ? parseInstant(value) : null;
  if (instant !== null) return instant;
  throw invalidRequest(`${name} must be a time with its zone (RFC 3339), for example 2026-11-21T04:32:26Z`);
}

/** A field or a parameter is wrong; `what` says which, and what it should be. */
export const invalidRequest = (what: string): ApiError =>
  new ApiError('INVALID_REQUEST', { message: `Invalid request: ${what}` });
