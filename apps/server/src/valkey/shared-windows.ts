import { randomUUID } from 'node:crypto';
import { createGroups, type Group, groupOf } from './groups.ts';
import { inTime } from './in-time.ts';
import {
  isRefusal,
  type LeasedWindows,
  type Script,
  type SharedPlace,
  script,
  UnknownScript,
  type ValkeyConnection,
} from './place.ts';
import { type Admissions, type Restorer, type RestoreSource, restore, sendPart } from './restore.ts';
import { DECIDE, FIND_GENERATION } from './scripts.ts';

/** Sliding windows that all processes share: their state is in Valkey, and so is the clock. */
export interface SharedWindows {
  /** False while Valkey is away. Then each process decides by itself. */
  isPresent(): boolean;
  /**
   * Decides on requests, together with all others of this turn of the event loop. Exactly one of the callbacks of
   * `request` is called, within `TIMEOUT_MS`.
   */
  decide(request: WindowRequest): void;
  /** Makes a counter at least as high. While Valkey is away, its source does so later. */
  raise(counter: Admissions): void;
  /** Runs another script on keys of one name. Rejects when Valkey is away. */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  /** As `run`. Calls of this process run in the order in which they are made. */
  runInOrder(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  /** What this process may admit by itself of the windows of one name. Null where the place grants no leases. */
  openLeases(name: string): LeasedWindows | null;
  /** Registers what this process has admitted, to be restored when Valkey has lost its data. */
  addSource(source: RestoreSource): void;
  /** Calls `read` every 250 ms while Valkey is present, and when it is back. */
  addReader(read: () => void): void;
  close(): void;
}

export interface WindowRequest {
  readonly key: string;
  /** The window's length. A counter has no window: a negative number is its lifetime. */
  readonly windowMs: number;
  readonly limit: number;
  /** How much each request counts. */
  readonly cost: number;
  /** How many requests there are; 0 to look only. It may grow until `isSent`. */
  times: number;
  /** Set when it is sent: a request that comes later needs a decision of its own. */
  isSent: boolean;
  onDecided(reply: WindowReply): void;
  /** Valkey is away. If it may have counted the requests, they must not be sent again. */
  onAway(mayBeCounted: boolean): void;
}

export interface WindowReply {
  /** How many of the requests were admitted: the first ones. */
  readonly admitted: number;
  /** What the window holds now. */
  readonly total: number;
  /** The time until the oldest admission leaves the window; 0 when it is empty. */
  readonly resetMs: number;
  /** The time until a refused request would be admitted. */
  readonly refusedResetMs: number;
}

export interface SharedWindowsOptions extends SharedPlace {
  /** Called when Valkey is away, with the reason, and when it is back. */
  readonly onChange: (away: string | null) => void;
  /** For tests: the time in whole milliseconds, instead of Valkey's own clock. */
  readonly clock?: () => number;
  /** For tests on machines that are busy with other tests. */
  readonly timeoutMs?: number;
}

/** A decision takes no longer than this, whatever happens to Valkey. */
const TIMEOUT_MS = 50;
const PROBE_INTERVAL_MS = 250;
const LOST_DATA = 'valkey has lost its data';
/**
 * All processes probe within this time, and tell Valkey again what they have admitted. Only then does it decide again.
 */
const LOST_DATA_PAUSE_MS = 1_000;
/** A connection that is silent for this long is replaced: its peer may be gone without a word. */
const SILENT_MS = 1_000;
const DECIDE_SCRIPT = script(DECIDE);
const FIND_GENERATION_SCRIPT = script(FIND_GENERATION);

interface State extends Restorer {
  readonly groups: readonly Group<WindowRequest>[];
  readonly sources: RestoreSource[];
  readonly readers: (() => void)[];
  readonly onChange: (away: string | null) => void;
  isPresent: boolean;
  isProbing: boolean;
  isFlushScheduled: boolean;
  /** Since when Valkey has answered no probe. */
  silentSinceMs: number;
  /** Until then Valkey does not know everything that other processes have admitted. */
  incompleteUntilMs: number;
}

export function openSharedWindows(options: SharedWindowsOptions): SharedWindows {
  const { open, cluster, clock, onChange, timeoutMs = TIMEOUT_MS } = options;
  const state: State = {
    groups: createGroups(cluster),
    sources: [],
    readers: [],
    onChange,
    timeoutMs,
    given: () => clock?.() ?? '',
    valkey: open({
      onReady: () => void probe(state),
      onLost: () => markAway(state, 'the connection is lost'),
    }),
    isPresent: false,
    isProbing: false,
    isFlushScheduled: false,
    silentSinceMs: performance.now(),
    incompleteUntilMs: 0,
  };
  const timer = setInterval(() => void probe(state), PROBE_INTERVAL_MS).unref();
  return {
    isPresent: () => state.isPresent,
    decide(request) {
      groupOf(state.groups, request.key).pending.push(request);
      if (state.isFlushScheduled) return;
      state.isFlushScheduled = true;
      setImmediate(flush, state);
    },
    raise(counter) {
      if (!state.isPresent) return;
      const { tag } = groupOf(state.groups, counter.key);
      sendPart(state, tag, [counter]).catch((error: unknown) => markAway(state, reasonOf(error)));
    },
    run: (other, keys, args) => runOther(state, state.valkey.run, other, keys, args),
    runInOrder: (other, keys, args) => runOther(state, state.valkey.runInOrder, other, keys, args),
    openLeases: (name) => state.valkey.leases?.open(`${groupOf(state.groups, name).tag}${name} `) ?? null,
    addSource: (source) => void state.sources.push(source),
    addReader: (read) => void state.readers.push(read),
    close() {
      clearInterval(timer);
      state.valkey.close();
    },
  };
}

async function runOther(
  state: State,
  run: ValkeyConnection['run'],
  other: Script,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> {
  if (!state.isPresent) throw new Error('valkey is away');
  const { tag } = groupOf(state.groups, keys[0] ?? '');
  const tagged = keys.map((key) => tag + key);
  try {
    return await inTime(run(other, tagged, args), state.timeoutMs);
  } catch (error) {
    if (!(error instanceof UnknownScript)) markAway(state, reasonOf(error));
    throw error;
  }
}

function markAway(state: State, reason: string): void {
  if (!state.isPresent) return;
  state.isPresent = false;
  state.onChange(reason);
}

/** Finds out whether Valkey answers in time and still has its data, and lets it decide again. */
async function probe(state: State): Promise<void> {
  if (state.isProbing) return;
  state.isProbing = true;
  try {
    const { groups } = state;
    const found = await Promise.all(groups.map((group) => findGeneration(state, group)));
    state.silentSinceMs = performance.now();
    if (groups.some(({ generation }, index) => generation !== '' && generation !== found[index])) {
      markAway(state, LOST_DATA);
      state.incompleteUntilMs = performance.now() + LOST_DATA_PAUSE_MS;
      await restore(state, groups, found);
    }
    if (!state.isPresent) {
      if (performance.now() < state.incompleteUntilMs) return;
      // From here to the first `await` nothing is decided by this process alone, and the replies come in the order of
      // the scripts: what Valkey decides next includes what is restored now.
      const restored = restore(state, groups, found);
      state.isPresent = true;
      state.onChange(null);
      await restored;
    }
    if (state.isPresent) for (const read of state.readers) read();
  } catch (error) {
    markAway(state, reasonOf(error));
    if (performance.now() - state.silentSinceMs < SILENT_MS) return;
    state.silentSinceMs = performance.now();
    state.valkey.reconnect();
  } finally {
    state.isProbing = false;
  }
}

async function findGeneration({ valkey, timeoutMs }: State, { tag }: Group<WindowRequest>): Promise<string> {
  const keys = [`${tag}generation`, `${tag}probe`];
  return String(await inTime(valkey.run(FIND_GENERATION_SCRIPT, keys, [randomUUID()]), timeoutMs));
}

function flush(state: State): void {
  state.isFlushScheduled = false;
  for (const group of state.groups) {
    if (group.pending.length === 0) continue;
    const batch = group.pending;
    group.pending = [];
    for (const request of batch) request.isSent = true;
    void send(state, group, batch);
  }
}

async function send(state: State, group: Group<WindowRequest>, batch: readonly WindowRequest[]): Promise<void> {
  const { valkey, given, timeoutMs } = state;
  const keys = [`${group.tag}generation`];
  const args: (string | number)[] = [group.generation, given()];
  for (const { key, windowMs, limit, cost, times } of batch) {
    keys.push(group.tag + key);
    args.push(windowMs, limit, cost, times);
  }
  try {
    const reply = await inTime(valkey.run(DECIDE_SCRIPT, keys, args), timeoutMs);
    if (Array.isArray(reply)) settle(batch, reply as readonly number[]);
    else abandon(state, batch, { reason: LOST_DATA, mayBeCounted: false });
  } catch (error) {
    abandon(state, batch, { reason: reasonOf(error), mayBeCounted: !isRefusal(error) });
  }
}

function abandon(
  state: State,
  batch: readonly WindowRequest[],
  { reason, mayBeCounted }: { readonly reason: string; readonly mayBeCounted: boolean },
): void {
  markAway(state, reason);
  for (const { onAway } of batch) onAway(mayBeCounted);
  void probe(state);
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function settle(batch: readonly WindowRequest[], reply: readonly number[]): void {
  for (const [index, request] of batch.entries()) {
    const [admitted = 0, total = 0, resetMs = 0, refusedResetMs = 0] = reply.slice(index * 4, index * 4 + 4);
    request.onDecided({ admitted, total, resetMs, refusedResetMs });
  }
}
