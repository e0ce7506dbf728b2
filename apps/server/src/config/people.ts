import { FOUR_EYES_KINDS, type FourEyesKind } from '../auth/four-eyes.ts';
import { isRole, ROLES, type Role } from '../auth/roles.ts';
import { httpUrl, list, publicUrl, setting, text, wholeNumber, withDefault } from './values.ts';

/** How people log in on the operator listener, and for how long. A part of SETTINGS (config.ts). */
export const PEOPLE_SETTINGS = {
  operatorUrl: setting(
    'TIBA_OPERATOR_URL',
    publicUrl,
    'The URL at which the browsers of [people](operating.md#people) reach the operator listener. With `https://`, ' +
      'their cookies are sent over TLS only.',
  ),
  oidcIssuer: setting(
    'TIBA_OPERATOR_OIDC_ISSUER',
    httpUrl,
    'Issuer of the OpenID Connect provider with which people log in, as its discovery document has it. Needs ' +
      '`TIBA_OPERATOR_OIDC_CLIENT_ID` and `TIBA_OPERATOR_URL`. Not set: only machines use the operator listener.',
  ),
  oidcClientId: setting('TIBA_OPERATOR_OIDC_CLIENT_ID', text, 'The ID of Tiba as a client of that provider.'),
  oidcClientSecret: setting(
    'TIBA_OPERATOR_OIDC_CLIENT_SECRET',
    text,
    'Its secret there. Not set: it is a public client, which PKCE protects.',
    { secret: true },
  ),
  oidcScope: withDefault(
    'TIBA_OPERATOR_OIDC_SCOPE',
    'openid profile email',
    text,
    'The scopes that a login asks the provider for.',
  ),
  oidcRolesClaim: withDefault(
    'TIBA_OPERATOR_OIDC_ROLES_CLAIM',
    'roles',
    text,
    'The claim that has the roles of a person: a name, or a path such as `realm_access.roles`. It is looked for in ' +
      'the ID token, then in the answer of the userinfo endpoint.',
  ),
  oidcRoles: withDefault(
    'TIBA_OPERATOR_OIDC_ROLES',
    ROLES.map((role) => `${role}=${role}`).join(','),
    roleValues,
    'What the values of that claim mean: `payments-helpdesk=support,payments-leads=approver`. Of several, the ' +
      'highest counts.',
  ),
  operatorSessionHours: withDefault(
    'TIBA_OPERATOR_SESSION_HOURS',
    '12',
    wholeNumber(1, 168),
    'Hours after which a session of a person ends, however much it is used.',
  ),
  operatorIdleMinutes: withDefault(
    'TIBA_OPERATOR_IDLE_MINUTES',
    '60',
    wholeNumber(5, 10_080),
    'Minutes without a request after which a session of a person ends.',
  ),
  tokenAccountSearches: withDefault(
    'TIBA_TOKEN_ACCOUNT_SEARCHES_PER_HOUR',
    '3600',
    wholeNumber(1, 1_000_000),
    'Searches by an account number in an hour, on the operator listener, with all access tokens of a client ' +
      'together. A person has 60.',
  ),
  fourEyes: withDefault(
    'TIBA_FOUR_EYES',
    '',
    fourEyesKinds,
    `What a [second person](operating.md#four-eyes) must approve, separated by commas: ${FOUR_EYES_KINDS.join(', ')}.`,
  ),
  proposalHours: withDefault(
    'TIBA_PROPOSAL_HOURS',
    '24',
    wholeNumber(1, 720),
    'Hours for which a proposal of a person can be approved by another.',
  ),
} as const;

function fourEyesKinds(value: string): readonly FourEyesKind[] {
  return list(value).map((name) => {
    const kind = FOUR_EYES_KINDS.find((each) => each === name);
    if (kind === undefined) throw new Error(`any of ${FOUR_EYES_KINDS.join(', ')}, separated by commas`);
    return kind;
  });
}

/** The role for each value of the claim. */
function roleValues(value: string): ReadonlyMap<string, Role> {
  const entries = list(value).map((entry) => {
    // A value may itself contain the sign, as a distinguished name does.
    const split = entry.lastIndexOf('=');
    const role = entry.slice(split + 1);
    if (split < 1 || !isRole(role)) throw new Error(`VALUE=ROLE, separated by commas, with ${ROLES.join(', ')}`);
    return [entry.slice(0, split), role] as const;
  });
  return new Map(entries);
}

interface PeopleSettings {
  readonly operatorUrl: string | null;
  readonly oidcIssuer: string | null;
  readonly oidcClientId: string | null;
  readonly oidcClientSecret: string | null;
}

/** Faults of settings that go together. */
export function findPeopleFaults(settings: PeopleSettings): string[] {
  const { operatorUrl, oidcIssuer, oidcClientId, oidcClientSecret } = settings;
  const faults: string[] = [];
  if (oidcIssuer === null) {
    if (oidcClientId !== null || oidcClientSecret !== null)
      faults.push('TIBA_OPERATOR_OIDC_ISSUER is missing: the client ID and the secret are for a provider');
    return faults;
  }
  if (oidcClientId === null) faults.push('TIBA_OPERATOR_OIDC_ISSUER needs TIBA_OPERATOR_OIDC_CLIENT_ID');
  if (operatorUrl === null) faults.push('TIBA_OPERATOR_OIDC_ISSUER needs TIBA_OPERATOR_URL, to which a login returns');
  for (const [name, url] of [
    ['TIBA_OPERATOR_OIDC_ISSUER', oidcIssuer],
    ['TIBA_OPERATOR_URL', operatorUrl],
  ] as const) {
    if (url !== null && !isProtected(url)) faults.push(`${name} must start with https:// unless it is on this machine`);
  }
  return faults;
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

function isProtected(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || LOOPBACK.has(hostname);
}
