import { createHash, randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FourEyesKind } from '../../../auth/four-eyes.ts';
import { actorOfPerson } from '../../../auth/operator-sessions.ts';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import type { JsonObject } from '../../../lib/exact-json.ts';
import type { Database } from '../../../postgres/database.ts';
import { recordingAction } from '../../../postgres/operator-actions.ts';
import { insertProposal, type Proposal } from '../../../postgres/operator-proposals.ts';
import { callerOf } from '../../authorize.ts';
import { sendOperatorSuccess } from '../../envelope.ts';
import { ApiError, bearerChallenge } from '../../errors.ts';
import { actorOf } from '../action-request.ts';
import type { GuardedOperation, RequestedChange, RunGuarded } from './guarded-operation.ts';
import { PROPOSED, proposalJson } from './proposal-json.ts';

export interface FourEyesOptions {
  readonly database: Database;
  /** The kinds of changes that need approval. */
  readonly kinds: readonly FourEyesKind[];
  /** How long a proposal can be approved. */
  readonly lifetimeSeconds: number;
}

/** The changes that may need approval: each is made by one function, at once or when it is approved. */
export interface FourEyes {
  /** Call it once for each operation, when its route is added. */
  guard<Change extends JsonObject>(operation: GuardedOperation<Change>): RunGuarded<Change>;
  /** The operation of a proposal; undefined for one that this version does not have. */
  operationOf(action: string): GuardedOperation<JsonObject> | undefined;
}

export function createFourEyes(options: FourEyesOptions): FourEyes {
  const { database, kinds: approved } = options;
  const operations = new Map<string, GuardedOperation<JsonObject>>();

  return {
    guard<Change extends JsonObject>(operation: GuardedOperation<Change>): RunGuarded<Change> {
      // A proposal has what this operation's own route has checked.
      operations.set(operation.action, operation as unknown as GuardedOperation<JsonObject>);
      return async (request, reply, requested) => {
        const kinds = requested.kinds.filter((kind) => approved.includes(kind));
        if (kinds.length > 0) return propose(options, operation, request, reply, { ...requested, kinds });
        const { change, reason, message } = requested;
        await operation.prepare?.(database, change);
        const work = (inside: Database) => operation.execute(inside, change, reason);
        const data = await recordingAction(database, actorOf(request), work);
        return sendOperatorSuccess(reply, message, data);
      };
    },
    operationOf: (action) => operations.get(action),
  };
}

async function propose<Change extends JsonObject>(
  { database, lifetimeSeconds }: FourEyesOptions,
  { action, lockState }: GuardedOperation<Change>,
  request: FastifyRequest,
  reply: FastifyReply,
  { kinds, change, reason, clientId, subjectId }: RequestedChange<Change>,
): Promise<FastifyReply> {
  const { person } = callerOf(request);
  if (person === undefined) throw new ApiError('FORBIDDEN', { message: peopleOnly(kinds), headers: bearerChallenge() });
  const payload = JSON.stringify({ action, client_id: clientId, subject_id: subjectId, kinds, change, reason });
  const work = async (inside: Database) => {
    const before = await lockState(inside, change);
    const proposal = await insertProposal(inside, {
      proposalId: `pr_${randomBytes(10).toString('hex')}`,
      kinds,
      action,
      clientId,
      subjectId,
      payload,
      payloadHash: hashOfPayload(payload),
      before,
      reason,
      proposer: actorOfPerson(person),
      proposerName: person.name,
      proposerSession: person.sessionId,
      proposerRole: person.role,
      origin: request.ip,
      lifetimeSeconds,
    });
    const record = { action: 'proposal create', clientId, subjectId: proposal.proposalId, reason, before };
    return { result: proposal, record: { ...record, after: payload } };
  };
  const proposal: Proposal = await recordingAction(database, actorOf(request), work);
  return sendOperatorSuccess(reply.code(202), PROPOSED, JSON.stringify(proposalJson(proposal)));
}

export const hashOfPayload = (payload: string): Buffer => createHash('sha256').update(payload).digest();

const peopleOnly = (kinds: readonly string[]) =>
  englishOnly(
    `This change needs the approval of a second person (TIBA_FOUR_EYES: ${kinds.join(', ')}): a person must propose ` +
      'it, and no access token can',
  );
