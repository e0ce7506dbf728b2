import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FourEyesKind } from '../../../auth/four-eyes.ts';
import type { JsonObject } from '../../../lib/exact-json.ts';
import type { Database } from '../../../postgres/database.ts';
import type { Recorded } from '../../../postgres/operator-actions.ts';

/** A change that a second person may have to approve. `Change` is plain JSON: what was asked for, checked. */
export interface GuardedOperation<Change extends JsonObject> {
  /** Its name in the record of what operators did. */
  readonly action: string;
  /**
   * Locks what the change is based on until the database transaction ends, and resolves to it as JSON text. If it
   * differs when a proposal is approved, nothing is done.
   * @throws ApiError when there is nothing to change
   */
  readonly lockState: (inside: Database, change: Change) => Promise<string | null>;
  /**
   * What must be done before the change, in database transactions of its own: too much for the one that makes it. It
   * may be repeated, and the change may be refused after it. A proposal is prepared when it is approved.
   */
  readonly prepare?: (database: Database, change: Change) => Promise<void>;
  /** Makes the change. The result is the `data` of the answer, as JSON. @throws ApiError */
  readonly execute: (inside: Database, change: Change, reason: string) => Promise<Recorded<string>>;
}

/** A change as it was asked for. */
export interface RequestedChange<Change extends JsonObject> {
  /** What it is about: approval is needed if it is turned on for any of them. */
  readonly kinds: readonly FourEyesKind[];
  readonly change: Change;
  readonly reason: string;
  readonly clientId: string | null;
  readonly subjectId: string | null;
  /** Of the answer when the change is made at once. */
  readonly message: string;
}

/** Makes the change and answers 200, or stores a proposal and answers 202. */
export type RunGuarded<Change extends JsonObject> = (
  request: FastifyRequest,
  reply: FastifyReply,
  requested: RequestedChange<Change>,
) => Promise<FastifyReply>;
