import { isLosslessNumber, parse } from 'lossless-json';

/** Of this length are the bodies of all operations and the replies of banks; longer ones take the general way. */
const SHORT = 2_048;

/**
 * Reads JSON without losing anything: no number is rounded, and a name given twice with two values is refused, which one
 * reader would take this way and the next one that way. Numbers may come as `LosslessNumber`.
 * @throws SyntaxError, or RangeError for nesting deeper than the stack
 */
export function parseExactJson(text: string): unknown {
  if (text.length > SHORT) return parse(text);
  // What reads back as it was written has lost nothing, and telling so natively is several times as fast.
  const value: unknown = JSON.parse(text);
  return JSON.stringify(value) === text ? value : parse(text);
}

/** The same, and null for what is no JSON. */
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

/** A number as it is written; undefined for anything else. */
export const numberText = (value: unknown): string | undefined =>
  typeof value === 'number' || isLosslessNumber(value) ? value.toString() : undefined;
