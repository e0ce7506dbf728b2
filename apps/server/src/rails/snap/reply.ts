import { isJsonObject, type JsonObject, numberText, readExactJson } from '../../lib/exact-json.ts';
import { ownProperty } from '../../lib/own-property.ts';

/** `responseCode`: HTTP status, service code and case code (ASPI). */
export interface ResponseCode {
  readonly text: string;
  readonly httpStatus: number;
  /** Letters occur in it. */
  readonly service: string;
  /** HTTP status and case code, such as `404 11`: what it says, whichever service says it. */
  readonly meaning: string;
}

export interface Reply {
  /** Null when it is missing or malformed. */
  readonly responseCode: ResponseCode | null;
  /** Unchanged. Use `textOf` and `nonTextOf` to read them. */
  readonly fields: JsonObject;
}

/** Parses a bank's reply. Null when it is not a JSON object, or has a field twice with two values. */
export function parseReply(text: string): Reply | null {
  const value = readExactJson(text);
  if (!isJsonObject(value)) return null;
  return { fields: value, responseCode: parseResponseCode(readText(ownProperty(value, 'responseCode'))) };
}

/** The text of a field that holds text or a number, as it is written. */
export const textOf = ({ fields }: Reply, name: string): string | undefined => readText(ownProperty(fields, name));

/** The same, of a field that is not empty: many banks fill the fields that they have nothing for with empty texts. */
export const filledTextOf = (reply: Reply, name: string): string | undefined => textOf(reply, name) || undefined;

/** The value of a field that holds anything else but null. Such a field must not be treated as absent. */
export function nonTextOf({ fields }: Reply, name: string): unknown {
  const value = ownProperty(fields, name);
  return value === null || readText(value) !== undefined ? undefined : value;
}

/** Text as it is, and a number as it is written; undefined for anything else. */
export function readText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : numberText(value);
}

const RESPONSE_CODE = /^\d{3}[0-9A-Z]{2}\d{2}$/;

/** Null when it is missing or malformed. */
export function parseResponseCode(text: string | undefined): ResponseCode | null {
  if (text === undefined || !RESPONSE_CODE.test(text)) return null;
  return {
    text,
    httpStatus: Number(text.slice(0, 3)),
    service: text.slice(3, 5),
    meaning: `${text.slice(0, 3)} ${text.slice(5)}`,
  };
}
