/**
 * Errors by which a limit, a missing scope or an outage refuses a request. A client gets them without using up its rate
 * limit.
 */
export const REFUSALS: ReadonlySet<string> = new Set(['RATE_LIMIT_EXCEEDED', 'FORBIDDEN', 'SERVICE_UNAVAILABLE']);
