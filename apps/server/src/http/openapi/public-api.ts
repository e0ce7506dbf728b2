import type { ApiDescription } from './describe-api.ts';
import { WEBHOOKS } from './webhooks.ts';

/** The advice of the original contract, section 8, and what it takes to follow it (docs/contract.md 8.1). */
const DESCRIPTION = `
Check a bank account before a disbursement to it, and the status of the disbursement after.

## How to use it

1. **Log in.** \`POST /oauth/token\` with your client ID and secret. Reuse the token until shortly before it
   expires.
2. **Validate before you disburse.** \`POST /api/v1/check-account\`: a disbursement to an invalid account does not
   succeed.
3. **Prefer callbacks to polling.** Register an endpoint with \`POST /api/v1/callback-endpoints\`, and read
   \`GET /api/v1/events\` after an outage of yours.
4. **Poll \`PROCESS\` every 10 seconds, up to 30 times,** where you have no callbacks. \`Retry-After\` says when the
   next request is worth it, and \`Prefer: wait=30\` waits for the final status. Some banks take up to 30 minutes:
   after the last attempt, ask every few minutes. \`PROCESS\` is not final and never means that the money did not
   move.
5. **Back off exponentially** on \`RATE_LIMIT_EXCEEDED\` and \`SERVICE_UNAVAILABLE\`: wait \`Retry-After\` seconds,
   and double the wait after each further refusal.
6. **Cache final statuses.** \`SUCCESS\` and \`FAILED\` never change, so store them and do not ask again. With
   \`Cache-Control: max-age=86400\` in the request, the cache of an HTTP library may do that.

## Every answer

JSON answers have an envelope: \`success\`, \`message\`, and \`data\` with \`meta\`, or \`error_code\`. Programs read
\`error_code\` and people read \`message\`. Limits count per client: 120 requests in any 60 seconds for check-status
and 100 for check-account, unless the operator gave you others. \`RateLimit\` says what is left.
`.trim();

/** The description of the public listener. */
export const publicApi = (hasBuiltInIssuer: boolean): ApiDescription => ({
  title: 'Tiba',
  description: DESCRIPTION,
  tags: [
    ...(hasBuiltInIssuer ? [{ name: 'Login', description: 'Access tokens, by OAuth 2.0 client credentials.' }] : []),
    { name: 'Disbursement status', description: 'Has it arrived? The status of disbursements.' },
    { name: 'Account validation', description: 'Can it arrive? Bank accounts before a disbursement.' },
    { name: 'Banks', description: 'The banks and their availability.' },
    { name: 'Events', description: 'All events of a client, in order and without gaps.' },
    { name: 'Callbacks', description: 'Signed callbacks (Standard Webhooks), their endpoints and deliveries.' },
  ],
  tokenUrl: () => (hasBuiltInIssuer ? '/oauth/token' : null),
  forClients: true,
  webhooks: WEBHOOKS,
});
