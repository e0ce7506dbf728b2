import { createOpenIdProvider, type OpenIdProvider } from '../auth/openid-provider.ts';
import { createOperatorSessions } from '../auth/operator-sessions.ts';
import { createSessionSecrets } from '../auth/session-secrets.ts';
import type { Settings } from '../config/config.ts';
import { CALLBACK_PATH } from '../http/operator/login/oidc-login.ts';
import type { PeopleDependencies } from '../http/operator/operator-server.ts';
import { deleteOldProposals } from '../postgres/operator-proposals.ts';
import { deleteOldSessions } from '../postgres/operator-sessions.ts';
import type { AppContext } from './app-context.ts';
import type { PostgresServices } from './postgres.ts';
import { openRetention } from './retention.ts';

/** How long a session is kept after it has expired, for the person who asks whose it was. */
const SESSION_DAYS = 30;
/** The record of what operators did has what was proposed and decided for longer. */
const PROPOSAL_DAYS = 400;
const DELETE_BATCH = 1_000;

/** How people use the operator listener. In the sandbox they log in by a link, too. */
export function openPeople(
  context: AppContext,
  { database, dataKey, seal }: Pick<PostgresServices, 'database' | 'dataKey' | 'seal'>,
  listenerHasTls: boolean,
): PeopleDependencies {
  const { settings, environment } = context.options;
  const idleSeconds = settings.operatorIdleMinutes * 60;
  openRetention(context, {
    database,
    records: 'operator_sessions',
    days: SESSION_DAYS,
    deleteBatch: (before) => deleteOldSessions(database, before, DELETE_BATCH),
  });
  openRetention(context, {
    database,
    records: 'operator_proposals',
    days: PROPOSAL_DAYS,
    deleteBatch: (before) => deleteOldProposals(database, before, DELETE_BATCH),
  });
  return {
    sessions: createOperatorSessions({
      database,
      idleSeconds,
      lifetimeSeconds: settings.operatorSessionHours * 3_600,
      issuer: settings.oidcIssuer,
      secrets: createSessionSecrets(dataKey),
    }),
    idleSeconds,
    login: { provider: openProvider(settings), hasLinks: environment === 'sandbox', seal },
    isSecure: settings.operatorUrl?.startsWith('https:') ?? listenerHasTls,
    fourEyes: { kinds: settings.fourEyes, lifetimeSeconds: settings.proposalHours * 3_600 },
  };
}

/** Null where none is set. The provider is asked when a person logs in: Tiba starts without it. */
function openProvider(settings: Settings): OpenIdProvider | null {
  const { operatorUrl, oidcIssuer, oidcClientId, oidcClientSecret, oidcScope, oidcRolesClaim, oidcRoles } = settings;
  if (operatorUrl === null || oidcIssuer === null || oidcClientId === null) return null;
  return createOpenIdProvider({
    issuer: oidcIssuer,
    clientId: oidcClientId,
    clientSecret: oidcClientSecret,
    redirectUri: operatorUrl + CALLBACK_PATH,
    scope: oidcScope,
    rolesClaim: oidcRolesClaim,
    roles: oidcRoles,
  });
}
