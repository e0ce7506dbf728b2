/** Reads an object's own property only: a name from outside cannot reach inherited ones, such as `constructor`. */
export const ownProperty = <Value>(object: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;
