import { isPlainText } from '../domain/identifiers.ts';
import { parseInstant } from '../domain/instant.ts';
import { parseMoney } from '../domain/money.ts';
import type { BilingualText } from '../lib/bilingual-text.ts';
import { ApiError } from './errors.ts';

/** As the feed accepts it. */
const BANK_CODE_LENGTH_MAX = 32;

/** The query of a URL, form-encoded. A value may hold further question marks (RFC 3986, section 3.4). */
export function queryOf(url: string): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : url.slice(start + 1));
}

/**
 * The named parameters of a URL's query. Other parameters are ignored.
 * @throws ApiError INVALID_REQUEST for one given twice, because parsers disagree on which of the two values counts
 */
export function queryParameters<Name extends string>(
  url: string,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const given = queryOf(url);
  const parameters: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const [value, ...others] = given.getAll(name);
    if (others.length > 0)
      throw invalidRequest({ en: `give ${name} at most once`, id: `berikan ${name} paling banyak satu kali` });
    if (value !== undefined) parameters[name] = value;
  }
  return parameters;
}

/**
 * The parameters of a search. A parameter that it does not have is an error: ignoring a misspelled filter would return
 * far more than the client asked for.
 * @throws ApiError INVALID_REQUEST
 */
export function searchParameters<Name extends string>(
  url: string,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const known: readonly string[] = names;
  const given = queryOf(url);
  const unknown = [...given.keys()].some((name) => !known.includes(name));
  if (unknown) {
    const listed = names.join(', ');
    throw invalidRequest({
      en: `there is a parameter that this list does not have; it has ${listed}`,
      id: `ada parameter yang tidak dimiliki daftar ini; parameternya adalah ${listed}`,
    });
  }
  return queryParameters(url, names);
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
export const listLimit = (text: string | undefined): number =>
  wholeNumber(text, { name: 'limit', min: 1, max: 1_000, fallback: 100 });

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
  const { en, id } = typeof value === 'string' && lacksPlus(value) ? PLUS_ENCODED : { en: '', id: '' };
  throw invalidRequest({
    en: `${name} must be a time with its zone (RFC 3339), for example 2026-11-21T04:32:26Z${en}`,
    id: `${name} harus berupa waktu dengan zonanya (RFC 3339), misalnya 2026-11-21T04:32:26Z${id}`,
  });
}

/** In a query a plus sign means a space, so the zone +07:00 arrives as ' 07:00'. */
const lacksPlus = (text: string): boolean => parseInstant(text.replace(/ (?=\d\d:\d\d$)/, '+')) !== null;

const PLUS_ENCODED: BilingualText = {
  en: '. The plus sign of a zone is written %2B in an address',
  id: '. Tanda plus pada zona ditulis %2B di alamat',
};

/** The range of time that two parameters give: from the first on, before the second; null where one is absent. */
export function timeRange(
  parameters: Readonly<Partial<Record<string, string>>>,
  fromName: string,
  toName: string,
): { readonly from: string | null; readonly to: string | null } {
  const read = (name: string): string | null =>
    parameters[name] === undefined ? null : instantParameter(parameters[name], name);
  const [from, to] = [read(fromName), read(toName)];
  if (from !== null && to !== null && from >= to) {
    throw invalidRequest({ en: `${fromName} must be before ${toName}`, id: `${fromName} harus sebelum ${toName}` });
  }
  return { from, to };
}

/** An exact decimal in canonical text; null where it is absent. @throws ApiError INVALID_REQUEST */
export function moneyParameter(text: string | undefined, name: string): string | null {
  if (text === undefined) return null;
  const money = parseMoney(text);
  if (money !== null) return money;
  throw invalidRequest({
    en: `${name} must be a plain decimal with at most two decimals, for example 150000.00`,
    id: `${name} harus berupa angka desimal biasa dengan paling banyak dua desimal, misalnya 150000.00`,
  });
}

/** A bank's code, in any of its forms; null where it is absent. @throws ApiError INVALID_REQUEST */
export function bankCodeParameter(text: string | undefined): string | null {
  if (text === undefined) return null;
  if (text !== '' && isPlainText(text, BANK_CODE_LENGTH_MAX)) return text;
  throw invalidRequest({
    en: 'bank_code must be a clearing code, a BIC or a short name, as in GET /api/v1/banks',
    id: 'bank_code harus berupa kode kliring, BIC, atau nama singkat bank, seperti di GET /api/v1/banks',
  });
}

/** A field or a parameter is wrong. The text says which one, and what it must be. */
export const invalidRequest = ({ en, id }: BilingualText): ApiError =>
  new ApiError('INVALID_REQUEST', { message: { en: `Invalid request: ${en}`, id: `Permintaan tidak valid: ${id}` } });
