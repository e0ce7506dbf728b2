import { parseInstant } from '../domain/instant.ts';
import type { BilingualText } from '../lib/bilingual-text.ts';
import { ApiError } from './errors.ts';

/**
 * The named parameters of a URL's query, form-encoded. Other parameters are ignored.
 * @throws ApiError INVALID_REQUEST for one given twice, because parsers disagree on which of the two values counts
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
    if (others.length > 0)
      throw invalidRequest({ en: `give ${name} at most once`, id: `berikan ${name} paling banyak satu kali` });
    if (value !== undefined) parameters[name] = value;
  }
  return parameters;
}

/** A whole number in digits; `fallback` where it is absent. @throws ApiError INVALID_REQUEST */
export function wholeNumber(
  text: string | undefined,
  { name, min, max, fallback }: { name: string; min: number; max: number; fallback: number },
): number {
  if (text === undefined) return fallback;
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw invalidRequest({
    en: `${name} must be a whole number from ${min} to ${max}`,
    id: `${name} harus berupa bilangan bulat dari ${min} sampai ${max}`,
  });
}

/** The `limit` of an operator's list: how many items at most. @throws ApiError INVALID_REQUEST */
export const listLimit = (url: string): number =>
  wholeNumber(queryParameters(url, ['limit']).limit, { name: 'limit', min: 1, max: 1_000, fallback: 100 });

/** The value, if it is one of `values`; null where it is absent. @throws ApiError INVALID_REQUEST */
export function oneOf<Value extends string>(value: unknown, values: readonly Value[], name: string): Value | null {
  if (value === undefined) return null;
  const found = values.find((each) => each === value);
  if (found !== undefined) return found;
  const listed = values.join(', ');
  throw invalidRequest({ en: `${name} must be one of ${listed}`, id: `${name} harus salah satu dari ${listed}` });
}

/** The instant as ISO 8601 in UTC. @throws ApiError INVALID_REQUEST */
export function instantParameter(value: unknown, name: string): string {
  const instant = typeof value === 'string' ? parseInstant(value) : null;
  if (instant !== null) return instant;
  throw invalidRequest({
    en: `${name} must be a time with its zone (RFC 3339), for example 2026-11-21T04:32:26Z`,
    id: `${name} harus berupa waktu dengan zonanya (RFC 3339), misalnya 2026-11-21T04:32:26Z`,
  });
}

/** A field or a parameter is wrong. The text says which one, and what it must be. */
export const invalidRequest = ({ en, id }: BilingualText): ApiError =>
  new ApiError('INVALID_REQUEST', { message: { en: `Invalid request: ${en}`, id: `Permintaan tidak valid: ${id}` } });
