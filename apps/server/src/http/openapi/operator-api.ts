import type { ApiDescription } from './describe-api.ts';

const DESCRIPTION = `
The listener for the operator's own systems: the feed of the disbursement core, lists for the people who run the
service, health checks and metrics. It has a port of its own, which clients must not reach.

If a feed gets no answer, or \`SERVICE_UNAVAILABLE\`, send the whole feed again: what was acknowledged is stored, and
nothing is applied twice.
`.trim();

/** The description of the operator listener. */
export const operatorApi = (hasBuiltInIssuer: boolean): ApiDescription => ({
  title: 'Tiba: operator',
  description: DESCRIPTION,
  tags: [
    ...(hasBuiltInIssuer ? [{ name: 'Login', description: 'Access tokens, by OAuth 2.0 client credentials.' }] : []),
    { name: 'Feed', description: 'Transactions and status updates from the disbursement core.' },
    { name: 'Transactions', description: "Transactions that need the operator's attention." },
    { name: 'Account checks', description: 'The audit log, bulk validations and the enumeration guard.' },
    { name: 'Rails', description: 'The connections to banks.' },
    { name: 'Callbacks', description: "Clients' callback endpoints." },
    { name: 'Clients', description: 'The clients and their limits.' },
    { name: 'Proposals', description: 'Changes that a second person must approve.' },
    { name: 'Sessions', description: 'People who are logged in.' },
    { name: 'Audit', description: 'What operators did.' },
    { name: 'Health', description: 'Processes, health checks and metrics.' },
  ],
  tokenUrl: () => (hasBuiltInIssuer ? '/oauth/token' : null),
  forClients: false,
});
