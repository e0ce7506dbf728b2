import { isLosslessNumber, parse } from 'lossless-json';

/** In characters. Request bodies and bank replies are usually shorter; longer texts take the slower path at once. */
const SHORT_LENGTH_MAX = 2_048;

/**
 * Parses JSON without loss: no number is rounded, and an object with one name and two different values is an error,
 * because parsers disagree on which value counts. Numbers may be `LosslessNumber`.
 * @throws SyntaxError, or RangeError for nesting deeper than the stack
 */
export function parseExactJson(text: string): unknown {
  if (text.length > SHORT_LENGTH_MAX) return parse(text);
  // Text that serializes back unchanged has lost nothing. The native check is several times as fast as `parse`.
  const value: unknown = JSON.parse(text);
  return JSON.stringify(value) === text ? value : parse(text);
}

/** The same, but returns null if the text is not JSON. */
export function readExactJson(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return null;
  }
}

export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isLosslessNumber(value);

/** A number's text; undefined for anything else. */
export const numberText = (value: unknown): string | undefined =>
  typeof value === 'number' || isLosslessNumber(value) ? value.toString() : undefined;
