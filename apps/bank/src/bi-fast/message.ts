import type { JsonObject } from '../json.ts';

/** A message as it came: a JSON object. */
export type Message = JsonObject;

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
