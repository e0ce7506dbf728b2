import type { Caller } from './caller.ts';
import type { Canaries } from './canaries.ts';
import type { Tokens } from './clients.ts';
import type { KnownTransactions } from './known-transactions.ts';
import type { CampaignRecord } from './record.ts';
import type { ServiceProcess } from './service.ts';

/** What the load and the judges of one round share. */
export interface RoundContext {
  readonly seed: number;
  readonly record: CampaignRecord;
  readonly canaries: Canaries;
  readonly processes: readonly ServiceProcess[];
  readonly caller: Caller;
  readonly tokens: Tokens;
  readonly known: KnownTransactions;
  /**
   * Whether each process counts requests, or all together in Valkey. "after an outage" once a process may have decided
   * without it: what it admitted then is forgotten when it is killed. Unknown once Valkey has lost its data: what a
   * killed process had admitted before may be forgotten, too.
   */
  readonly limits: () => 'per process' | 'shared' | 'after an outage' | 'unknown';
  /** Only accounts that the bank gives a verdict about, so that no check may fail. */
  readonly onlyVerdicts?: boolean;
  /** Aborts when the load ends: after it only what was begun is finished. */
  readonly loadEnds: AbortSignal;
  /** Aborts when what was begun has had more than enough time without faults. */
  readonly settleEnds: AbortSignal;
}

export const bearer = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` });
