import { randomUUID } from 'node:crypto';
import type { Admission, ClientGuard } from './client-guard.ts';
import { shortHash } from './daily-accounts.ts';
import type { ValidationSignal } from './validation-signal.ts';

/** Entries of all processes, in one order (valkey/shared-log.ts). */
export interface CheckLog {
  append(key: string, entries: readonly string[], after: number): Promise<AppendedEntries | null>;
  isPresent(): boolean;
}

interface AppendedEntries {
  readonly index: number;
  readonly others: readonly { readonly entry: string; readonly ageMs: number }[];
}

/**
 * One client's guard, kept equal in all processes: each check, verdict and validation is an entry of a log, and every
 * process applies the entries in the order of the log. So a client is restricted at the same check as with one process.
 */
export interface ClientReplica {
  /** `block`: the account's block of sequential numbers, as a keyed hash. */
  admit(hash: string, block: number): Promise<Admission>;
  recordVerdict(isNotFound: boolean): void;
  blockForValidation(signal: ValidationSignal): number;
}

export interface ClientReplicaDependencies {
  readonly clientId: string;
  readonly guard: ClientGuard;
  readonly log: CheckLog;
  /** Milliseconds on a monotonic clock. */
  readonly clock: () => number;
  /** True while entries are applied that other processes have logged and counted already. */
  readonly setQuiet: (quiet: boolean) => void;
  /** Called once, when what other processes have done today is applied. */
  readonly onFirstRead: () => void;
}

/** What was applied while Valkey was away, and is told to the others later. */
const UNSENT_MAX = 1_000;

export function createClientReplica(dependencies: ClientReplicaDependencies): ClientReplica {
  const { clientId, guard, log, clock, setQuiet, onFirstRead } = dependencies;
  /** Begins each entry of this replica, which has applied it already when it reads it back after a timeout. */
  const id = randomUUID().slice(0, 8);
  let day = 0;
  /** The index of the last entry that was applied. */
  let applied = 0;
  let unsent: string[] = [];
  let hasRead = false;

  /** Appends the entry; then `apply` runs in its place among the entries of all processes. */
  async function append<T>(entry: string, apply: () => T): Promise<T> {
    if (guard.today() !== day) {
      day = guard.today();
      applied = 0;
      unsent = [];
    }
    const askedDay = day;
    const entries = [...unsent, `${id} ${entry}`];
    unsent = [];
    // Entries that were sent may have been appended, also when there is no reply. They are not sent again, because
    // others would count them twice.
    if (log.isPresent()) {
      const appended = await log.append(`${clientId} ${day}`, entries, applied);
      // A new day has a new log, in which the index of the old one means nothing.
      if (appended !== null && askedDay === day) catchUp(appended, entries.length);
    } else unsent = entries.slice(-UNSENT_MAX);
    if (!hasRead) {
      hasRead = true;
      onFirstRead();
    }
    return apply();
  }

  function catchUp({ index, others }: AppendedEntries, own: number): void {
    // Valkey has lost its data, and the log has begun again: all that others have appended since is new.
    if (applied > index - own) applied = 0;
    // An earlier reply may have brought some of them.
    const isNew = (position: number): boolean => index - own - others.length + position + 1 > applied;
    const nowMs = clock();
    setQuiet(true);
    try {
      for (const [position, { entry, ageMs }] of others.entries())
        if (isNew(position) && !entry.startsWith(id)) applyEntry(guard, entry, nowMs - ageMs);
    } finally {
      setQuiet(false);
    }
    applied = index;
  }

  return {
    async admit(hash, block) {
      const account = shortHash(hash);
      const refused = guard.precheck(account, clock());
      return refused ?? append(`check ${account} ${block}`, () => guard.admitEntry(account, block, clock()));
    },
    recordVerdict(isNotFound) {
      void append(`verdict ${isNotFound ? 'NOT_FOUND' : 'FOUND'}`, () => guard.recordVerdict(isNotFound, clock()));
    },
    blockForValidation(signal) {
      const durationMs = guard.blockForValidation(signal, clock());
      void append(`validation ${signal.signal} ${signal.figure}`, () => {});
      return durationMs;
    },
  };
}

function applyEntry(guard: ClientGuard, entry: string, nowMs: number): void {
  const [, kind, one = '', other = ''] = entry.split(' ');
  if (kind === 'check') guard.admitEntry(Number(one), Number(other), nowMs);
  else if (kind === 'verdict') guard.recordVerdict(one === 'NOT_FOUND', nowMs);
  else if (kind === 'validation')
    guard.blockForValidation({ signal: one as ValidationSignal['signal'], figure: Number(other) }, nowMs);
}
