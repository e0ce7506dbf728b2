import { createHash } from 'node:crypto';
import type { Decision } from '../rate-limit/limiter.ts';

/** A connection to Valkey, or to another place that runs the same scripts (workers/parent-link.ts). */
export interface ValkeyConnection {
  /**
   * Runs a script. All keys have the same hash tag. It is sent at most once: it rejects when there is no connection, or
   * when the connection is lost before the reply, and then the script may have run. It has no timeout.
   */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  /**
   * Sends the whole text of the script, so that it runs before all that is sent later. `run` may have to send a script
   * twice when the server does not know it, and other commands run in between.
   */
  runInOrder(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  /** Absent where the place grants none. */
  readonly leases?: Leases;
  /** Replaces a connection that does not answer. */
  reconnect(): void;
  close(): void;
}

/**
 * Requests that this process may admit without asking the place, which counts them against the limit as long as the
 * process holds them. Of windows of one minute only.
 */
export interface Leases {
  /** `prefix` comes before each key. */
  open(prefix: string): LeasedWindows;
}

export interface LeasedWindows {
  /** Null when the place has to decide. */
  take(key: string, limit: number, cost: number): Decision | null;
  /** What the window of a key held when the place last decided on a request. */
  observe(key: string, limit: number, total: number): void;
}

export interface Script {
  readonly lua: string;
  readonly sha1: string;
}

export const script = (lua: string): Script => ({ lua, sha1: createHash('sha1').update(lua).digest('hex') });

/** Whether Valkey itself refused a script, which therefore was not executed. */
export const isRefusal = (error: unknown): boolean => error instanceof Error && error.name === 'ReplyError';

/** The place does not run this script: each process decides by itself about what the script is for. */
export class UnknownScript extends Error {}

export interface ConnectionEvents {
  /** Commands can be sent: called for each new connection. */
  onReady(): void;
  onLost(): void;
}

/** Where several processes count. */
export interface SharedPlace {
  /** Whether it is a cluster of Valkey, whose nodes share the keys. */
  readonly cluster: boolean;
  /** Connects in the background. Calls no event before it returns. */
  readonly open: (events: ConnectionEvents) => ValkeyConnection;
}
