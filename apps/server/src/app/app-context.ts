import type pg from 'pg';
import type { EnumerationGuardOptions } from '../account-checks/enumeration/enumeration-guard.ts';
import type { Settings } from '../config.ts';
import type { BankDirectory } from '../domain/bank.ts';
import type { LongPollDependencies } from '../http/check-status/long-poll.ts';
import type { LogSink } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { InstallationEnvironment } from '../postgres/installation.ts';
import type { NotificationsOptions } from '../postgres/notifications.ts';
import type { LookUpOptions } from '../postgres/transaction-look-up.ts';
import type { AccountInquiriesOptions } from '../rails/account-inquiries.ts';
import type { Rail } from '../rails/rail.ts';
import type { MonotonicClock } from '../rate-limit/sliding-window.ts';
import type { DemoCore } from '../sandbox/demo-core.ts';

export interface AppOptions {
  readonly environment: InstallationEnvironment;
  readonly settings: Settings & { readonly secretKey: Buffer };
  readonly connection: pg.ClientConfig;
  readonly banks: BankDirectory;
  readonly rails: readonly Rail[];
  /** Which rails a bank is asked over, and how hard. By default all that reach it, in their order. */
  readonly inquiries?: AccountInquiriesOptions;
  readonly logging: Pick<LogSink, 'log' | 'writeLine'>;
  /** In the sandbox: what plays the operator's disbursement core. */
  readonly demoCore?: DemoCore;
  /** For tests on machines that are busy with other tests. */
  readonly notifications?: Pick<NotificationsOptions, 'trustMs'>;
  /** For tests that push the limits' clock. */
  readonly limitClock?: MonotonicClock;
  /** For tests that cannot wait as long as a client that is slowed. */
  readonly enumerationGuard?: EnumerationGuardOptions;
  /** For tests that cannot hold as many streams, or as long. */
  readonly longPoll?: Pick<LongPollDependencies, 'followersMax' | 'streamMaxMs'>;
  /** For the benchmark that measures what batching brings. */
  readonly lookUp?: LookUpOptions;
}

/** What every stage of the wiring has at hand. */
export interface AppContext {
  readonly options: AppOptions;
  readonly metrics: Metrics;
  /** Called when the service closes, the last one first. */
  readonly onClose: (closer: () => Promise<unknown>) => void;
}
