import { isUtf8 } from 'node:buffer';

/** A message as it came: a JSON object. */
export type Message = Readonly<Record<string, unknown>>;

/** The object that a body in UTF-8 holds, or null. */
export function parseMessage(body: Buffer): Message | null {
  if (!isUtf8(body)) return null;
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** What stands at a path of names and array indexes joined by dots, or undefined. */
export function valueAt(message: Message, path: string): unknown {
  let value: unknown = message;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** The text at a path; an empty one for anything else. */
export function textAt(message: Message, path: string): string {
  const value = valueAt(message, path);
  return typeof value === 'string' ? value : '';
}

export function isObject(value: unknown): value is Message {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
