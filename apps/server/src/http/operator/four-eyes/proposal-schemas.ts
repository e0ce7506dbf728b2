import { Type } from 'typebox';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import type { ErrorCode } from '../../errors.ts';
import { nextPage, pageParameters } from '../../pages.ts';
import { accessToken, errorResponses, successResponse, UNAUTHENTICATED_ERRORS } from '../../schemas.ts';
import { ApprovedProposalSchema, ProposalSchema, ProposalStateSchema } from './proposal-json.ts';

const text = (description: string, example: string) => Type.String({ description, examples: [example] });
const params = Type.Object({ proposal_id: text('The proposal.', 'pr_5f0c1d2e3b4a59687786') });

export const listProposalsSchema = {
  tags: ['Proposals'],
  security: accessToken('operator:read'),
  operationId: 'listProposals',
  summary: 'List proposed changes, the latest first',
  description: 'Of changes that a second person must approve (TIBA_FOUR_EYES). People need the role `engineer`.',
  querystring: Type.Object({
    state: Type.Optional(ProposalStateSchema),
    client_id: Type.Optional(text('The client that it concerns.', 'shop-one')),
    ...pageParameters,
  }),
  response: {
    200: successResponse(
      Type.Object(
        { proposals: Type.Array(ProposalSchema), ...nextPage },
        { title: 'ProposalList', additionalProperties: false },
      ),
      englishOnly('Proposals found'),
      'The proposals. `Link` with `rel="next"` is the address of the next page (RFC 8288).',
      { headers: ['Link'] },
    ),
    ...errorResponses(['INVALID_REQUEST']),
  },
};

export const readProposalSchema = {
  tags: ['Proposals'],
  security: accessToken('operator:read'),
  operationId: 'readProposal',
  summary: 'Read a proposed change',
  description: 'With exactly what is executed when it is approved. People need the role `engineer`.',
  params,
  response: {
    200: successResponse(ProposalSchema, englishOnly('Proposal found'), 'The proposal.'),
    ...errorResponses(['NOT_FOUND']),
  },
};

const Reason = text('Why, in 5 to 500 characters. It is recorded.', 'Agreed with the client');

const DECISION_ERRORS = [
  ...UNAUTHENTICATED_ERRORS,
  'UNAUTHORIZED',
  'FORBIDDEN',
  'RATE_LIMIT_EXCEEDED',
  'NOT_FOUND',
  'NOT_ACCEPTABLE',
  'INVALID_REQUEST',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'PROPOSAL_CONFLICT',
  'INTERNAL_ERROR',
] as const satisfies readonly ErrorCode[];

interface Decision {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly data: typeof ProposalSchema | typeof ApprovedProposalSchema;
}

const decision = ({ operationId, summary, description, data }: Decision) => ({
  tags: ['Proposals'],
  security: [{ session: [] }],
  operationId,
  summary,
  description,
  params,
  response: {
    200: successResponse(data, englishOnly('Decided'), summary),
    ...errorResponses([], DECISION_ERRORS),
  },
});

const BY_ANOTHER = 'A person with the role approver decides, and never the one who proposed it.';

export const approveSchema = {
  ...decision({
    operationId: 'approveProposal',
    summary: 'Approve a proposed change, which makes it',
    description:
      'Exactly what was proposed is done, once. If what it is about has changed since, nothing is done. ' + BY_ANOTHER,
    data: ApprovedProposalSchema,
  }),
  body: Type.Object(
    {
      payload_hash: text('Of the proposal that was read: what differs from it is not approved.', 'a'.repeat(64)),
      reason: Reason,
    },
    { title: 'ApproveProposalRequest' },
  ),
};

export const refuseSchema = {
  ...decision({
    operationId: 'refuseProposal',
    summary: 'Refuse a proposed change, or withdraw your own',
    description: 'Nothing is changed. A person with the role approver refuses; the one who proposed it withdraws it.',
    data: ProposalSchema,
  }),
  body: Type.Object({ reason: Reason }, { title: 'RefuseProposalRequest' }),
};
