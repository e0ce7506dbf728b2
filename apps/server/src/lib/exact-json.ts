import { isLosslessNumber, parse } from 'lossless-json';

/** In characters: such a text is not nested too deeply. */
const SHORT_LENGTH_MAX = 2_048;
/** What walks through a value must not come to the end of its stack. */
const DEPTH_MAX = 1_024;

/** Valid JSON in which an object has one name twice: parsers disagree on which of the values counts. */
export class RepeatedName extends SyntaxError {}

/**
 * Parses JSON without loss: no number is rounded, and an object with one name and two different values is an error.
 * Numbers may be `LosslessNumber`.
 * @throws SyntaxError, RepeatedName, or RangeError for deep nesting
 */
export function parseExactJson(text: string): unknown {
  const long = text.length > SHORT_LENGTH_MAX ? scan(text) : null;
  // The native parser is ten times as fast as `parse`, and nearly every text loses nothing in it.
  const value: unknown = JSON.parse(text);
  if (hasAllOf(text, value) || JSON.stringify(value) === text) return value;
  // White space between the values, or characters that were escaped without need.
  const { members, hasNumbers } = long ?? scan(text);
  return !hasNumbers && members === countMembers(value) ? value : parse(text, null, { onDuplicateKey });
}

/** Of two values that differ. */
function onDuplicateKey(): never {
  throw new RepeatedName('an object has one name twice, with different values');
}

/**
 * Parses JSON of which only strings count: its numbers may be rounded. An object with one name twice is an error. For
 * texts that may be long: it never takes the slow way, and the members of all objects have a bound, because an object
 * with thousands of names takes V8 as long as that.
 * @throws SyntaxError, RepeatedName, or RangeError for deep nesting or more members
 */
export function parseJsonStrings(text: string, membersMax: number): unknown {
  const { members } = scan(text);
  if (members > membersMax) throw new RangeError(`more than ${membersMax} members`);
  const value: unknown = JSON.parse(text);
  if (countMembers(value) !== members) throw new RepeatedName('an object has one name twice');
  return value;
}

/**
 * Whether `value` is an object of strings and nulls that would serialize to text of this length, and so has lost
 * nothing: a name that the parser has dropped would make the text longer. This costs half of serializing it.
 */
function hasAllOf(text: string, value: unknown): boolean {
  if (!isJsonObject(value) || text.includes('\\')) return false;
  let length = '{'.length;
  for (const name in value) {
    const field = value[name];
    if (typeof field === 'string') length += '"":"",'.length + name.length + field.length;
    else if (field === null) length += '"":null,'.length + name.length;
    else return false;
  }
  // The last comma stands for the closing brace.
  return length === text.length;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const ZERO = 0x30;
const NINE = 0x39;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/**
 * What a JSON text has outside its strings: the members of all objects, each with a colon, and whether any number.
 * @throws RangeError for deep nesting
 */
function scan(text: string): { readonly members: number; readonly hasNumbers: boolean } {
  let members = 0;
  let hasNumbers = false;
  let isInString = false;
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) isInString = !isInString;
    else if (isInString) {
      if (code === BACKSLASH) index += 1;
    } else if (code === COLON) members += 1;
    else if (code >= ZERO && code <= NINE) hasNumbers = true;
    else if (code === CLOSING_BRACKET || code === CLOSING_BRACE) depth -= 1;
    else if (code === OPENING_BRACKET || code === OPENING_BRACE) {
      depth += 1;
      if (depth > DEPTH_MAX) throw new RangeError(`nested more than ${DEPTH_MAX} levels deep`);
    }
  }
  return { members, hasNumbers };
}

/** The number of members of all objects in a parsed value. Of two members with one name, parsing keeps one. */
export function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const values: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  let members = Array.isArray(value) ? 0 : values.length;
  for (const each of values) members += countMembers(each);
  return members;
}

/** `parseExactJson`, but returns null if the text is not JSON. */
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
