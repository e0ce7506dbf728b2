import type { Seal } from '../../auth/secrets.ts';
import type { SendCallback } from '../../callbacks/send.ts';
import type { Judgement } from '../../outbound/destination.ts';
import type { Database } from '../../postgres/database.ts';
import type { Limiter } from '../../rate-limit/limiter.ts';
import type { Authorize } from '../authorize.ts';

/** What the operations on callbacks work with. */
export interface CallbackDependencies {
  readonly authorize: Authorize;
  readonly database: Database;
  readonly seal: Seal;
  /** Whether callbacks may be sent to a URL. */
  readonly judge: (url: string) => Promise<Judgement>;
  readonly send: SendCallback;
  /** Counts tests, which send at once. */
  readonly testLimiter: Limiter;
}
