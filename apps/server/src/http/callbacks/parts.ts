import type { Seal } from '../../auth/secrets.ts';
import type { SendCallback } from '../../callbacks/send.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { Judgement } from '../../outbound/destination.ts';
import type { Database } from '../../postgres/database.ts';
import type { Gate } from '../gate.ts';

/** What the operations on callbacks work with. */
export interface CallbackParts {
  readonly gate: Gate;
  readonly database: Database;
  readonly seal: Seal;
  /** Whether callbacks may be sent to a URL. */
  readonly judge: (url: string) => Promise<Judgement>;
  readonly send: SendCallback;
  /** Counts tests, which send at once. */
  readonly testLimiter: Limiter;
}
