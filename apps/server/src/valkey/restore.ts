import { type Group, groupOf } from './groups.ts';
import { inTime } from './in-time.ts';
import { script, type ValkeyConnection } from './place.ts';
import { RESTORE } from './scripts.ts';

/** Requests that this process has admitted. */
export interface RestoreSource {
  /** All that are still in their windows: Valkey has lost its data. */
  all(): Iterable<Admissions>;
  /** Those that Valkey has not counted. */
  uncounted(): Iterable<Admissions>;
  /** Valkey is told all of them now, and will not be told again. */
  onRestored(): void;
}

export interface Admissions {
  readonly key: string;
  /** The window's length. A counter has no window: a negative number is its lifetime. */
  readonly windowMs: number;
  /**
   * For a window: how many milliseconds ago requests were admitted, and how many. For a counter, one entry: its
   * minimum, and what is added to it then.
   */
  readonly entries: readonly (readonly [ageMs: number, count: number])[];
}

export interface Restorer {
  readonly valkey: ValkeyConnection;
  readonly sources: readonly RestoreSource[];
  readonly timeoutMs: number;
  /** The present in milliseconds that a test gives to the scripts; '' for Valkey's own clock. */
  readonly given: () => string | number;
}

/** A script with more windows would keep Valkey from answering others in time. */
const WINDOWS_MAX = 500;
const SCRIPT = script(RESTORE);

/**
 * Tells Valkey what it does not know; `generations` are those found, by group. All scripts are sent before this
 * returns. A part that fails is not repeated: Valkey may have counted it.
 */
export function restore<Request>(
  restorer: Restorer,
  groups: readonly Group<Request>[],
  generations: readonly string[],
): Promise<unknown> {
  const { sources } = restorer;
  const all = sources.flatMap((source) => [...source.all()]);
  const uncounted = sources.flatMap((source) => [...source.uncounted()]);
  for (const { onRestored } of sources) onRestored();
  const sent: Promise<unknown>[] = [];
  for (const [index, group] of groups.entries()) {
    const found = generations[index] as string;
    const isSame = found === group.generation;
    const admissions = (isSame ? uncounted : all).filter(({ key }) => groupOf(groups, key) === group);
    group.generation = found;
    for (let from = 0; from < admissions.length; from += WINDOWS_MAX)
      sent.push(sendPart(restorer, group.tag, admissions.slice(from, from + WINDOWS_MAX)));
  }
  return Promise.all(sent);
}

export function sendPart(
  { valkey, given, timeoutMs }: Restorer,
  tag: string,
  admissions: readonly Admissions[],
): Promise<unknown> {
  const args: (string | number)[] = [given()];
  for (const { windowMs, entries } of admissions)
    args.push(windowMs, entries.map((ageAndCount) => ageAndCount.join(':')).join(' '));
  const keys = admissions.map(({ key }) => tag + key);
  return inTime(valkey.runInOrder(SCRIPT, keys, args), timeoutMs);
}
