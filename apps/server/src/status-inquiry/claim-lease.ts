/**
 * How long a claim keeps others from asking. Longer than a question (4 s) and the storing of its answer together, or two
 * processes would ask at once; no longer than somebody may wait when the process that holds it was killed.
 */
const CLAIM_MS = 15_000;

/** ISO 8601 UTC. */
export const leaseEnd = (now: Date): string => new Date(now.getTime() + CLAIM_MS).toISOString();
