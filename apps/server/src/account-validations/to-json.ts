import type { AccountValidation } from '../postgres/account-validations.ts';

/** A validation in the shape of the API. */
export const validationToJson = (validation: AccountValidation): Record<string, unknown> => ({
  validation_id: validation.validationId,
  state: validation.state,
  rows: validation.rowCount,
  results: validation.resultCount,
  counts: {
    active: validation.counts.active,
    inactive: validation.counts.inactive,
    not_found: validation.counts.notFound,
    blocked: validation.counts.blocked,
    invalid: validation.counts.invalid,
    no_verdict: validation.counts.noVerdict,
  },
  held_until: validation.heldUntil,
  created_at: validation.createdAt,
  ended_at: validation.endedAt,
});
