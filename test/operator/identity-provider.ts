import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeJwt, type JWTPayload, SignJWT } from 'jose';
import { Provider } from 'oidc-provider';

/** A person as the provider knows them. */
export interface ProviderAccount {
  readonly sub: string;
  readonly name: string;
  /** In the answer of the userinfo endpoint. */
  readonly roles?: unknown;
}

/** A real OpenID Connect provider (oidc-provider) over HTTP, on which `account` is logged in. */
export interface IdentityProvider {
  readonly issuer: string;
  /** The person who uses the browser. */
  account: ProviderAccount;
  /** Changes the ID tokens that it issues, which it then signs again; null: none. */
  changeIdToken: ((claims: JWTPayload) => JWTPayload) | null;
  /** Signs with another key than the one that it publishes. */
  usesOtherKey: boolean;
  /** Answers requests to the token endpoint with 500. */
  isFailing: boolean;
  close(): Promise<void>;
}

export const CLIENT = { clientId: 'tiba', clientSecret: 'a-secret-of-the-tests' };

export async function startIdentityProvider(redirectUri: string): Promise<IdentityProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [key, otherKey] = [newKey(), newKey()];
  const state: IdentityProvider = {
    issuer,
    account: { sub: 'siti', name: 'Siti Rahma' },
    changeIdToken: null,
    usesOtherKey: false,
    isFailing: false,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  const provider = createProvider(issuer, redirectUri, key.export({ format: 'jwk' }), state);
  const answer = provider.callback();
  server.on('request', (request, response) => {
    const { pathname } = new URL(request.url ?? '/', issuer);
    if (pathname.startsWith('/interaction/')) void logIn(provider, state.account, request, response);
    else if (pathname === '/token' && state.isFailing) response.writeHead(500).end('out of order');
    else {
      const isChanged = pathname === '/token' && (state.changeIdToken !== null || state.usesOtherKey);
      if (isChanged) changeAnswer(response, (text) => resign(text, state, state.usesOtherKey ? otherKey : key));
      void answer(request, response);
    }
  });
  return state;
}

const newKey = () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
type Key = ReturnType<typeof newKey>;

const KEY_ID = 'key-one';

function createProvider(issuer: string, redirectUri: string, jwk: object, state: IdentityProvider): Provider {
  return new Provider(issuer, {
    clients: [{ client_id: CLIENT.clientId, client_secret: CLIENT.clientSecret, redirect_uris: [redirectUri] }],
    jwks: { keys: [{ ...jwk, kid: KEY_ID, alg: 'RS256', use: 'sig' }] },
    cookies: { keys: ['of the tests'] },
    claims: { openid: ['sub'], profile: ['name', 'roles'] },
    findAccount: (_context, accountId) => ({
      accountId,
      claims: () => ({ name: state.account.name, roles: state.account.roles, sub: accountId }),
    }),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    features: { devInteractions: { enabled: false } },
    // As a provider answers whose clients do not all know RFC 9700.
    pkce: { required: () => true },
    ttl: { AccessToken: 600, AuthorizationCode: 60, IdToken: 600, Interaction: 600, Session: 600, Grant: 600 },
  });
}

/** The person logs in and consents, in one step. */
async function logIn(
  provider: Provider,
  { sub }: ProviderAccount,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const grant = new provider.Grant({ accountId: sub, clientId: CLIENT.clientId });
  grant.addOIDCScope('openid profile email');
  const consent = { grantId: await grant.save() };
  await provider.interactionFinished(request, response, { login: { accountId: sub }, consent });
}

/** Lets an answer pass whole, with another body. */
function changeAnswer(response: ServerResponse, change: (body: string) => Promise<string>): void {
  const { end } = response;
  const changed = (body: unknown): ServerResponse => {
    void change(String(body)).then((text) => {
      response.setHeader('content-length', Buffer.byteLength(text));
      end.call(response, text, 'utf8');
    });
    return response;
  };
  response.end = changed as typeof response.end;
}

async function resign(body: string, { changeIdToken }: IdentityProvider, key: Key): Promise<string> {
  const answer = JSON.parse(body) as { id_token?: string };
  if (answer.id_token === undefined) return body;
  const claims = decodeJwt(answer.id_token);
  const token = new SignJWT(changeIdToken?.(claims) ?? claims).setProtectedHeader({ alg: 'RS256', kid: KEY_ID });
  return JSON.stringify({ ...answer, id_token: await token.sign(key) });
}

/** A browser's cookies, by host. */
export class CookieJar {
  readonly #cookies = new Map<string, Map<string, string>>();

  /** The `Cookie` header for a URL. */
  headerFor(url: string): string {
    return [...(this.#cookies.get(new URL(url).host) ?? [])].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  store(url: string, response: Response): void {
    const { host } = new URL(url);
    const cookies = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, cookies);
    for (const header of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(header) ?? [];
      if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(header)) cookies.delete(name);
      else cookies.set(name, value);
    }
  }

  valueOf(url: string, name: string): string | undefined {
    return this.#cookies.get(new URL(url).host)?.get(name);
  }

  replace(url: string, name: string, value: string): void {
    this.#cookies.get(new URL(url).host)?.set(name, value);
  }
}
