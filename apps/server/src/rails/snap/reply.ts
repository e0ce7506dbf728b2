import { isLosslessNumber } from 'lossless-json';
import { readExactJson } from '../../exact-json.ts';

/** `responseCode`: HTTP status, service code and case code (ASPI; letters occur in the service code). */
export interface ResponseCode {
  readonly text: string;
  readonly httpStatus: number;
  readonly service: string;
  readonly case: string;
}

export interface Reply {
  /** Null when it is missing or malformed. */
  readonly responseCode: ResponseCode | null;
  /** Text and numbers, as they are written. */
  readonly fields: Readonly<Record<string, string | undefined>>;
  /** The fields that hold anything else but null, as they came. They are not to be mistaken for fields that are absent. */
  readonly others: ReadonlyMap<string, unknown>;
}

const RESPONSE_CODE = /^(\d{3})([0-9A-Z]{2})(\d{2})$/;

/** Reads a bank's reply; null when it is not a JSON object, or names a field twice with two values. */
export function parseReply(text: string): Reply | null {
  const value = readExactJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const fields: Record<string, string> = {};
  const others = new Map<string, unknown>();
  for (const [name, field] of Object.entries(value)) {
    const text = readText(field);
    if (text !== undefined) fields[name] = text;
    else if (field !== null) others.set(name, field);
  }
  return { fields, others, responseCode: parseResponseCode(fields['responseCode']) };
}

/** Text as it is, and a number as it is written; undefined for anything else. */
export function readText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || isLosslessNumber(value) ? value.toString() : undefined;
}

/** Null for what is missing or malformed. */
export function parseResponseCode(text: string | undefined): ResponseCode | null {
  const match = RESPONSE_CODE.exec(text ?? '');
  if (match === null) return null;
  const [whole, http, service = '', caseCode = ''] = match;
  return { text: whole, httpStatus: Number(http), service, case: caseCode };
}
