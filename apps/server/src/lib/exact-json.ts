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
  // The native parser is several times as fast as `parse`. Text that serializes back unchanged has lost nothing.
  const value: unknown = JSON.parse(text);
  return hasAllOf(text, value) || JSON.stringify(value) === text ? value : parse(text);
}

/**
 * Whether `value` is an object of strings and nulls that would serialize to text of this length, and so has lost
 * nothing: a name that the parser has dropped would make the text longer. This costs half of serializing it.
 */
function hasAllOf(text: string, value: unknown): boolean {
  if (!isJsonObject(value) || text.includes('\\')) return false;
  let length = '{'.length;
  for (const name of Object.keys(value)) length += '"":,'.length + name.length;
  for (const field of Object.values(value)) {
    if (typeof field === 'string') length += '""'.length + field.length;
    else if (field === null) length += 'null'.length;
    else return false;
  }
  // The last comma stands for the closing brace.
  return length === text.length;
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
