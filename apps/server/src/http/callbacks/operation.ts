import type { Seal } from '../../auth/secrets.ts';
import type { SendCallback } from '../../callbacks/send.ts';
import type { DestinationResult } from '../../outbound/destination.ts';
import type { Database } from '../../postgres/database.ts';
import type { Limiter } from '../../rate-limit/limiter.ts';
import type { Authorize } from '../authorize.ts';
import { accessToken } from '../schemas.ts';

/** The dependencies of the callback operations. */
export interface CallbackDependencies {
  readonly authorize: Authorize;
  readonly database: Database;
  readonly seal: Seal;
  /** Whether callbacks may be sent to a URL. */
  readonly validateUrl: (url: string) => Promise<DestinationResult>;
  readonly send: SendCallback;
  /** Days for which the attempts of deliveries are kept; 0: no limit. */
  readonly callbackDays: number;
  /** Counts test callbacks, which are sent during the request. */
  readonly testLimiter: Limiter;
}

/** The part of the OpenAPI description that all callback operations share. */
export const callbackOperation = { tags: ['Callbacks'], security: accessToken('callbacks:manage') };

/** What `authorize` checks for each of them. */
export const manageCallbacks = { scope: 'callbacks:manage', limitedOperation: 'callbacks' } as const;
