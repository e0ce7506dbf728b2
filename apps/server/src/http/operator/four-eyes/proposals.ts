import type { FastifyInstance } from 'fastify';
import { findProposal, listProposals, PROPOSAL_STATES } from '../../../postgres/operator-proposals.ts';
import { type Authorize, callerOf } from '../../authorize.ts';
import { type Cursors, linkToNext } from '../../cursors.ts';
import { sendOperatorSuccess } from '../../envelope.ts';
import { LIMIT_DEFAULT, LIMIT_MAX } from '../../pages.ts';
import { oneOf, searchParameters, wholeNumber } from '../../query-parameters.ts';
import { requireJson } from '../../request-body.ts';
import type { BrowserSessions } from '../login/browser-sessions.ts';
import { textParameter } from '../transactions/search-filter.ts';
import { approve, type DecideDependencies, noProposal, refuse } from './decide.ts';
import { proposalJson } from './proposal-json.ts';
import { approveSchema, listProposalsSchema, readProposalSchema, refuseSchema } from './proposal-schemas.ts';

export interface ProposalsDependencies extends DecideDependencies {
  readonly authorize: Authorize;
  readonly cursors: Cursors;
  readonly requireRole: BrowserSessions['requireRole'];
}

/** What people have proposed, and the decisions of others. */
export function proposals(app: FastifyInstance, dependencies: ProposalsDependencies): void {
  const { authorize, database, cursors, requireRole } = dependencies;
  // As the record of actions: a proposal says who does what, and why.
  const onRequest = authorize({ scope: 'operator:read', role: 'engineer' });
  const onApproval = [requireRole('approver'), requireJson];
  // Who proposed it may withdraw it, also without the role approver.
  const onRefusal = [requireRole('engineer'), requireJson];

  app.get('/operator/v1/proposals', { onRequest, schema: listProposalsSchema }, async (request, reply) => {
    const parameters = searchParameters(request.originalUrl, ['state', 'client_id', 'limit', 'cursor']);
    const limit = wholeNumber(parameters.limit, { name: 'limit', min: 1, max: LIMIT_MAX, fallback: LIMIT_DEFAULT });
    const filter = {
      state: oneOf(parameters.state, PROPOSAL_STATES, 'state'),
      clientId: textParameter(parameters.client_id, 'client_id'),
    };
    const scope = { list: 'operator-proposals', clientId: callerOf(request).client.clientId, filter } as const;
    const [createdAt = '', proposalId = ''] =
      parameters.cursor === undefined ? [] : cursors.read(scope, parameters.cursor);
    const before = createdAt === '' ? null : { createdAt, proposalId };
    const found = await listProposals(database, filter, { before, limit: limit + 1 });
    const page = found.slice(0, limit);
    const last = found.length > limit ? page.at(-1) : undefined;
    const cursor = last === undefined ? null : cursors.issue(scope, [last.createdAt, last.proposalId]);
    if (cursor !== null) reply.header('link', linkToNext(request.originalUrl, cursor));
    const data = { proposals: page.map(proposalJson), next_cursor: cursor, has_more: cursor !== null };
    return sendOperatorSuccess(reply, 'Proposals found', JSON.stringify(data));
  });

  app.get('/operator/v1/proposals/:proposal_id', { onRequest, schema: readProposalSchema }, async (request, reply) => {
    const { proposal_id: proposalId } = request.params as { proposal_id: string };
    const proposal = PROPOSAL_ID.test(proposalId) ? await findProposal(database, proposalId) : null;
    if (proposal === null) throw noProposal();
    return sendOperatorSuccess(reply, 'Proposal found', JSON.stringify(proposalJson(proposal)));
  });

  app.post(
    '/operator/v1/proposals/:proposal_id/approve',
    { onRequest: onApproval, schema: approveSchema },
    async (request, reply) => {
      const { proposal, result } = await approve(dependencies, request);
      const data = JSON.stringify({ ...proposalJson(proposal), result });
      return sendOperatorSuccess(reply, 'Approved, and the change was made', data);
    },
  );

  app.post(
    '/operator/v1/proposals/:proposal_id/refuse',
    { onRequest: onRefusal, schema: refuseSchema },
    async (request, reply) => {
      const proposal = await refuse(dependencies, request);
      const message = `${proposal.state === 'withdrawn' ? 'Withdrawn' : 'Refused'}, and nothing was changed`;
      return sendOperatorSuccess(reply, message, JSON.stringify(proposalJson(proposal)));
    },
  );
}

const PROPOSAL_ID = /^pr_[0-9a-f]{20}$/;
