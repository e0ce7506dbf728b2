import { isUtf8 } from 'node:buffer';

export type JsonObject = Readonly<Record<string, unknown>>;

const CONTENT_TYPE = /^application\/json(?:\s*;\s*charset="?utf-8"?)?$/i;

/** Whether a content type says JSON in UTF-8. */
export const isJson = (contentType: string): boolean => CONTENT_TYPE.test(contentType);

/** The members of a body that is a JSON object in UTF-8, or null. */
export function parseObject(body: Buffer): JsonObject | null {
  if (!isUtf8(body)) return null;
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
