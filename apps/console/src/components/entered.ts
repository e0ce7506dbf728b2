import { useState } from 'preact/hooks';

/** The fields of a dialog that changes something. */
export interface Entered<Fields extends object> {
  /** What was entered; for the rest, what was read. */
  readonly fields: Fields;
  /** What was entered and differs from what was read: to send the rest would undo what others changed meanwhile. */
  readonly changes: Partial<Fields>;
  readonly isChanged: boolean;
  enter(fields: Partial<Fields>): void;
  /** As if nothing was entered: before a dialog opens. */
  clear(): void;
}

/** `known` is what was read: what was not entered follows it. Lists of choices need the order of the choices. */
export function useEntered<Fields extends object>(known: Fields): Entered<Fields> {
  const [entered, setEntered] = useState<Partial<Fields>>({});
  const isDifferent = ([name, value]: readonly [string, unknown]): boolean =>
    JSON.stringify(value) !== JSON.stringify(known[name as keyof Fields]);
  const changes = Object.fromEntries(Object.entries(entered).filter(isDifferent)) as Partial<Fields>;
  return {
    fields: { ...known, ...entered },
    changes,
    isChanged: Object.keys(changes).length > 0,
    enter: (fields) => setEntered((before) => ({ ...before, ...fields })),
    clear: () => setEntered({}),
  };
}
