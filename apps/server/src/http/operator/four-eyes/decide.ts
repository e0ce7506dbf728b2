import type { FastifyRequest } from 'fastify';
import { actorOfPerson } from '../../../auth/operator-sessions.ts';
import { hasRole } from '../../../auth/roles.ts';
import { type BilingualText, englishOnly } from '../../../lib/bilingual-text.ts';
import { isJsonObject, type JsonObject } from '../../../lib/exact-json.ts';
import type { Database } from '../../../postgres/database.ts';
import { type Actor, type Recorded, recordingAction } from '../../../postgres/operator-actions.ts';
import { type Decision, decideProposal, lockProposal, type Proposal } from '../../../postgres/operator-proposals.ts';
import { ApiError, bearerChallenge } from '../../errors.ts';
import { invalidRequest } from '../../query-parameters.ts';
import { actorOf, fieldsOf, reasonOf } from '../action-request.ts';
import { forbidden, personOf } from '../login/browser-sessions.ts';
import { type FourEyes, hashOfPayload } from './four-eyes.ts';
import type { GuardedOperation } from './guarded-operation.ts';

export interface DecideDependencies {
  readonly database: Database;
  readonly fourEyes: Pick<FourEyes, 'operationOf'>;
}

/** A decision that was recorded; `conflict` says why nothing else was done. */
interface Decided {
  readonly proposal: Proposal;
  readonly conflict: BilingualText | null;
  /** JSON text of what the change has answered: it may have a secret, which is stored nowhere. */
  readonly result: string | null;
}

/**
 * Makes the change of a proposal exactly as it was proposed, and once. The change, both records and the decision are
 * one database transaction, which locks the proposal first.
 * @throws ApiError FORBIDDEN, NOT_FOUND, INVALID_REQUEST, PROPOSAL_CONFLICT
 */
export async function approve(
  { database, fourEyes }: DecideDependencies,
  request: FastifyRequest,
): Promise<{ readonly proposal: Proposal; readonly result: string | null }> {
  const { payload_hash: payloadHash } = fieldsOf(request, ['payload_hash', 'reason']);
  const reason = reasonOf(request);
  if (typeof payloadHash !== 'string' || !HASH.test(payloadHash)) throw invalidRequest(HASH_MESSAGE);
  const lock = async (inside: Database): Promise<Approvable> => {
    const proposal = await lockPending(inside, request);
    if (isOwn(proposal, request))
      throw new ApiError('FORBIDDEN', { message: OWN_PROPOSAL, headers: bearerChallenge() });
    const operation = fourEyes.operationOf(proposal.action);
    if (operation === undefined) throw conflict(UNKNOWN_ACTION);
    const hash = hashOfPayload(proposal.payload);
    if (!hash.equals(proposal.payloadHash) || hash.toString('hex') !== payloadHash) throw conflict(CHANGED_PAYLOAD);
    return { proposal, operation };
  };
  // Locked for this statement only, and once more in the database transaction that makes the change.
  const { proposal, operation } = await lock(database);
  await operation.prepare?.(database, readPayload(proposal.payload).change);
  const work = async (inside: Database): Promise<Recorded<Decided>> =>
    execute(inside, request, { ...(await lock(inside)), reason }).catch(refusedByChange);
  const decided = await recordingAction(database, actorOf(request), work);
  if (decided.conflict !== null) throw conflict(decided.conflict);
  return decided;
}

/** What the change has found missing, or in its way: the proposal stays pending, because this may be mended. */
function refusedByChange(error: unknown): never {
  if (error instanceof ApiError && (error.statusCode === 404 || error.statusCode === 409)) throw conflict(error.text);
  throw error;
}

interface Approvable {
  readonly proposal: Proposal;
  readonly operation: GuardedOperation<JsonObject>;
}

async function execute(
  inside: Database,
  request: FastifyRequest,
  { proposal, operation, reason }: Approvable & { readonly reason: string },
): Promise<Recorded<Decided>> {
  const { proposalId, clientId, before, payload } = proposal;
  const { change } = readPayload(payload);
  const decision = { by: approver(request).actor, byName: approver(request).name, reason };
  const record = { clientId, subjectId: proposalId, reason, before: payload, after: null };
  if ((await operation.lockState(inside, change)) !== before) {
    const outdated = await decideProposal(inside, proposalId, { ...decision, state: 'outdated' });
    return {
      result: { proposal: outdated, conflict: OUTDATED, result: null },
      record: { ...record, action: 'proposal outdated' },
    };
  }
  const executed = await operation.execute(inside, change, proposal.reason);
  const decided = await decideProposal(inside, proposalId, { ...decision, state: 'executed' });
  return {
    result: { proposal: decided, conflict: null, result: executed.result },
    record: { ...record, action: 'proposal approve' },
    ...(executed.record === null ? {} : { next: { actor: proposerOf(proposal, decision), record: executed.record } }),
  };
}

/** By the person who proposed it, it is a withdrawal. @throws ApiError as `approve` */
export async function refuse({ database }: DecideDependencies, request: FastifyRequest): Promise<Proposal> {
  fieldsOf(request, ['reason']);
  const reason = reasonOf(request);
  return recordingAction(database, actorOf(request), async (inside) => {
    const pending = await lockPending(inside, request);
    const { proposalId, clientId, payload } = pending;
    const { actor: by, name: byName } = approver(request);
    const [state, action] = isOwn(pending, request)
      ? (['withdrawn', 'proposal withdraw'] as const)
      : (['refused', 'proposal refuse'] as const);
    const proposal = await decideProposal(inside, proposalId, { state, by, byName, reason });
    return {
      result: proposal,
      record: { action, clientId, subjectId: proposalId, reason, before: payload, after: null },
    };
  });
}

/** The same person in another session has the same subject. */
const isOwn = ({ proposer }: Proposal, request: FastifyRequest): boolean => proposer === approver(request).actor;

/** The pending proposal, if this person made it or may decide. @throws ApiError */
async function lockPending(inside: Database, request: FastifyRequest): Promise<Proposal> {
  const { proposal_id: proposalId } = request.params as { proposal_id: string };
  const proposal = PROPOSAL_ID.test(proposalId) ? await lockProposal(inside, proposalId) : null;
  if (proposal === null) throw noProposal();
  const { role } = personOf(request);
  if (!isOwn(proposal, request) && !hasRole(role, 'approver')) throw forbidden(role, 'approver');
  if (proposal.state === 'expired') throw conflict(EXPIRED);
  if (proposal.state !== 'pending') throw conflict(decidedAlready(proposal));
  return proposal;
}

function approver(request: FastifyRequest): { readonly actor: string; readonly name: string } {
  const person = personOf(request);
  return { actor: actorOfPerson(person), name: person.name };
}

const proposerOf = (proposal: Proposal, { by, byName }: Pick<Decision, 'by' | 'byName'>): Actor => ({
  actor: proposal.proposer,
  origin: proposal.origin,
  person: { name: proposal.proposerName, sessionId: proposal.proposerSession, role: proposal.proposerRole },
  approval: { proposalId: proposal.proposalId, approvedBy: by, approvedByName: byName },
});

function readPayload(payload: string): { readonly change: JsonObject } {
  const { change } = JSON.parse(payload) as { change: unknown };
  if (!isJsonObject(change)) throw new Error('the payload of a proposal has no change');
  return { change };
}

const PROPOSAL_ID = /^pr_[0-9a-f]{20}$/;
const HASH = /^[0-9a-f]{64}$/;

export const noProposal = (): ApiError =>
  new ApiError('NOT_FOUND', {
    message: englishOnly('No proposal has this ID: GET /operator/v1/proposals lists them'),
  });

const conflict = (message: BilingualText): ApiError => new ApiError('PROPOSAL_CONFLICT', { message });

const HASH_MESSAGE = englishOnly('payload_hash must be the payload_hash of the proposal that you have read');
const OWN_PROPOSAL = englishOnly('You proposed this change: another person with the role approver must approve it');
const EXPIRED = englishOnly('This proposal has expired, and nothing was done: propose the change again');
const CHANGED_PAYLOAD = englishOnly(
  'The payload differs from the one that you approve, and nothing was done: read the proposal again',
);
const UNKNOWN_ACTION = englishOnly('This version of Tiba does not have the action of this proposal: propose it again');
const OUTDATED = englishOnly(
  'What this proposal is about has changed since, and nothing was done: look at it, and propose the change again',
);
const decidedAlready = ({ state, decidedByName }: Proposal): BilingualText =>
  englishOnly(`This proposal was decided already: ${state}, by ${decidedByName ?? 'a person'}`);
