import * as openid from 'openid-client';
import { isPlainText, withoutBidiControls } from '../domain/identifiers.ts';
import { SUBJECT_LENGTH_MAX } from './operator-sessions.ts';
import { highestRole, type Role } from './roles.ts';

export interface OpenIdProviderOptions {
  /** As its discovery document has it. */
  readonly issuer: string;
  readonly clientId: string;
  /** Null for a public client. */
  readonly clientSecret: string | null;
  /** Where the provider sends people back to: an absolute URL. */
  readonly redirectUri: string;
  readonly scope: string;
  /** A name, or a path with dots. */
  readonly rolesClaim: string;
  /** The role for each value of that claim. */
  readonly roles: ReadonlyMap<string, Role>;
}

/** A login that was begun. What is in it must reach `finish` with the same browser, and no other. */
export interface LoginAttempt {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

export type LoginResult =
  /** `role` is null for a person without one. */
  | { readonly outcome: 'identified'; readonly subject: string; readonly name: string; readonly role: Role | null }
  /** The answer does not belong to this attempt, or the provider refused. `reason` is for the log. */
  | { readonly outcome: 'refused'; readonly reason: string }
  /** The provider has confirmed the login of a person whose subject cannot be recorded and displayed as it is. */
  | { readonly outcome: 'unusable subject' }
  /** The provider does not answer, or does not know this client. */
  | { readonly outcome: 'unavailable'; readonly cause: unknown }
  /** The browser came back with an error of the provider, such as `server_error`; anyone can send one. */
  | { readonly outcome: 'sent back'; readonly reason: string };

/** The identity provider of the people who operate Tiba (OpenID Connect Core 1.0, section 3.1: code flow). */
export interface OpenIdProvider {
  /** The page of the provider for a login. Rejects when the provider does not answer. */
  begin(): Promise<{ readonly url: string; readonly attempt: LoginAttempt }>;
  /** `query` is what the provider has sent the browser back with. */
  finish(query: URLSearchParams, attempt: LoginAttempt): Promise<LoginResult>;
}

const TIMEOUT_SECONDS = 4;
const CLOCK_TOLERANCE_SECONDS = 5;
/** The discovery document is read again after this time. Keys are also read when one is unknown. */
const REDISCOVER_MS = 60 * 60 * 1_000;

export function createOpenIdProvider(options: OpenIdProviderOptions): OpenIdProvider {
  const { redirectUri, scope } = options;
  let known: { readonly configuration: openid.Configuration; readonly sinceMs: number } | null = null;
  /** Shared by all logins that wait for it. */
  let discovering: Promise<openid.Configuration> | null = null;

  async function discover(): Promise<openid.Configuration> {
    if (known !== null && performance.now() - known.sinceMs < REDISCOVER_MS) return known.configuration;
    discovering ??= discoverProvider(options).finally(() => {
      discovering = null;
    });
    const configuration = await discovering;
    known = { configuration, sinceMs: performance.now() };
    return configuration;
  }

  return {
    async begin() {
      const configuration = await discover();
      const attempt = {
        state: openid.randomState(),
        nonce: openid.randomNonce(),
        codeVerifier: openid.randomPKCECodeVerifier(),
      };
      const url = openid.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope,
        state: attempt.state,
        nonce: attempt.nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(attempt.codeVerifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, attempt };
    },

    async finish(query, { state, nonce, codeVerifier }) {
      try {
        const configuration = await discover();
        const tokens = await openid.authorizationCodeGrant(
          configuration,
          new URL(`${redirectUri}?${query.toString()}`),
          {
            expectedState: state,
            expectedNonce: nonce,
            pkceCodeVerifier: codeVerifier,
            idTokenExpected: true,
          },
        );
        const claims = tokens.claims();
        if (claims === undefined) return { outcome: 'refused', reason: 'no ID token' };
        const inToken = readPerson(claims, options);
        if (inToken.roles.length > 0 || configuration.serverMetadata().userinfo_endpoint === undefined)
          return identified(inToken);
        const more = await openid.fetchUserInfo(configuration, tokens.access_token, claims.sub);
        // Each source by itself: a roles claim of the ID token that gives none would hide the one of userinfo.
        const { name } = readPerson({ ...more, ...claims }, options);
        return identified({ ...inToken, name, roles: readPerson(more, options).roles });
      } catch (error) {
        return failureOf(error);
      }
    },
  };
}

const discoverProvider = ({ issuer, clientId, clientSecret }: OpenIdProviderOptions): Promise<openid.Configuration> =>
  openid.discovery(
    new URL(issuer),
    clientId,
    { [openid.clockTolerance]: CLOCK_TOLERANCE_SECONDS },
    clientSecret === null ? openid.None() : openid.ClientSecretBasic(clientSecret),
    {
      // The signature of the ID token is verified, in addition to the connection that it comes over.
      execute: [openid.enableNonRepudiationChecks, ...(isPlain(issuer) ? [openid.allowInsecureRequests] : [])],
      timeout: TIMEOUT_SECONDS,
    },
  );

const isPlain = (url: string): boolean => new URL(url).protocol === 'http:';

interface ClaimedPerson {
  readonly subject: string;
  readonly name: string;
  readonly roles: readonly Role[];
}

/** A subject is refused, not changed: without its invisible characters it could be the one of another person. */
const identified = ({ subject, name, roles }: ClaimedPerson): LoginResult =>
  isPlainText(subject, SUBJECT_LENGTH_MAX) && withoutBidiControls(subject) === subject
    ? { outcome: 'identified', subject, name, role: highestRole(roles) }
    : { outcome: 'unusable subject' };

const NAME_LENGTH_MAX = 128;
const NAMES = ['name', 'preferred_username', 'email'];

type Claims = Readonly<Record<string, unknown>>;

function readPerson(claims: Claims, { rolesClaim, roles }: OpenIdProviderOptions): ClaimedPerson {
  const subject = String(claims['sub']);
  // A person may choose it, and those who approve and audit read it.
  const nameIn = (value: unknown): string =>
    typeof value === 'string' && isPlainText(value, NAME_LENGTH_MAX) ? withoutBidiControls(value).trim() : '';
  const value = claimAt(claims, rolesClaim);
  const values = typeof value === 'string' ? [value] : Array.isArray(value) ? value : [];
  return {
    subject,
    name: NAMES.map((each) => nameIn(claims[each])).find((name) => name !== '') ?? subject,
    roles: values.flatMap((each) => roles.get(String(each)) ?? []),
  };
}

/** A claim may have dots in its name, as a URL has; otherwise they lead into objects. */
function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Claims)[name];
  }
  return value;
}

/** Of the provider, and not of the person. */
const PROVIDER_CODES = new Set(['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM']);
const CLIENT_ERRORS = new Set(['invalid_client', 'unauthorized_client', 'temporarily_unavailable', 'server_error']);

function failureOf(error: unknown): LoginResult {
  if (error instanceof openid.AuthorizationResponseError || error instanceof openid.ResponseBodyError) {
    if (CLIENT_ERRORS.has(error.error)) {
      const isOfBrowser = error instanceof openid.AuthorizationResponseError;
      return isOfBrowser ? { outcome: 'sent back', reason: error.error } : { outcome: 'unavailable', cause: error };
    }
    return { outcome: 'refused', reason: error.error };
  }
  if (!(error instanceof openid.ClientError)) return { outcome: 'unavailable', cause: error };
  const isOfProvider = error.code !== undefined && PROVIDER_CODES.has(error.code);
  return isOfProvider ? { outcome: 'unavailable', cause: error } : { outcome: 'refused', reason: reasonOf(error) };
}

const reasonOf = ({ code = '', message, cause }: openid.ClientError): string =>
  [code, message, cause instanceof Error ? cause.message : ''].filter((each) => each !== '').join(': ');
