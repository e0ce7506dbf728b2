import type { EnumerationGuardOptions } from '../account-checks/enumeration/enumeration-guard.ts';
import type { AvailabilityTimes } from '../bank-availability/publisher.ts';
import type { Settings } from '../config/config.ts';
import type { BankDirectory } from '../domain/bank.ts';
import type { UnfinishedAnswerDependencies } from '../http/check-status/answer-unfinished.ts';
import type { OperatorRoutes } from '../http/operator/operator-server.ts';
import type { SlowPeerTimeouts } from '../http/server.ts';
import type { InTurn } from '../lib/in-turn.ts';
import type { LogSink } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Tracing } from '../observability/tracing/tracing.ts';
import type { ResolveName } from '../outbound/name-resolution.ts';
import type { NotificationsOptions } from '../postgres/notifications.ts';
import type { InstallationEnvironment } from '../postgres/prepare-database.ts';
import type { PostgresConnection } from '../postgres/primary-client.ts';
import type { LookUpOptions } from '../postgres/transaction-look-up.ts';
import type { AccountInquiriesOptions } from '../rails/account-inquiries.ts';
import type { Rail } from '../rails/rail.ts';
import type { MonotonicClock } from '../rate-limit/sliding-window.ts';
import type { EndOrder } from '../workers/messages.ts';
import type { ParentLink } from '../workers/parent-link.ts';

/** What `startApp` takes: the settings, the connections, and what the sandbox and tests replace. */
export interface AppOptions {
  readonly environment: InstallationEnvironment;
  readonly settings: Settings & { readonly secretKey: Buffer };
  readonly connection: PostgresConnection;
  readonly banks: BankDirectory;
  readonly rails: readonly Rail[];
  /**
   * Routes and limits of the rails. By default a bank is inquired over every rail that reaches it, in their order.
   */
  readonly inquiries?: AccountInquiriesOptions;
  readonly logging: Pick<LogSink, 'log' | 'writeLine' | 'droppedLines'>;
  /** For one of several processes that have a parent. */
  readonly parent?: ParentLink;
  /** Further routes of the operator listener: the sandbox's. */
  readonly operatorRoutes?: OperatorRoutes;
  /** For tests on machines that are busy with other tests. */
  readonly notifications?: Pick<NotificationsOptions, 'staleAfterMs'>;
  /** For tests that advance the clock of the rate limits. */
  readonly limitClock?: MonotonicClock;
  /** For tests of a process whose clock is wrong: milliseconds since 1970. */
  readonly wallClock?: () => number;
  /** For tests on machines that are busy with other tests: how long a decision of Valkey may take. */
  readonly valkeyTimeoutMs?: number;
  /** For tests that cannot wait as long as a client that is slowed down. */
  readonly enumerationGuard?: EnumerationGuardOptions;
  /** For tests that cannot hold as many streams, or as long. */
  readonly longPoll?: Pick<UnfinishedAnswerDependencies, 'openWaitsMax' | 'streamMaxMs'>;
  /** For tests of names that the machine's resolver does not know. */
  readonly resolveName?: ResolveName;
  /** For tests that cannot wait as long. */
  readonly bankAvailability?: AvailabilityTimes;
  readonly slowPeers?: Partial<SlowPeerTimeouts>;
  /** How often the files of certificates are read. */
  readonly certificateIntervalMs?: number;
  /** For the benchmark that measures the effect of batching. */
  readonly lookUp?: LookUpOptions;
}

/** What every part of the service is built with. */
export interface AppContext {
  readonly options: AppOptions;
  readonly metrics: Metrics;
  /** Null while tracing is off. */
  readonly tracing: Tracing | null;
  /** Of all batches that delete old records. */
  readonly retentionTurn: InTurn;
  /** How the service closes; null until then. */
  readonly endOrder: () => EndOrder | null;
  /** Registers a closer, which `part` names in the log. When the service closes, the last one registered runs first. */
  readonly onClose: (part: string, closer: () => Promise<unknown>) => void;
}
