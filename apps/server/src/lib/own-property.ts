/** An object's own field only: a name from outside cannot reach what every object inherits. */
export const ownProperty = <Value>(object: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;
