import type { FastifyRequest } from 'fastify';
import type { Client, Clients } from '../../auth/clients.ts';
import type { FailureThrottle } from '../../auth/failure-throttle.ts';
import type { SecretUses } from '../../auth/secret-uses.ts';
import { findMatch } from '../../auth/secrets.ts';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { retryAfterHeader } from '../errors.ts';

/**
 * An error in the form of RFC 6749, section 5.2, whose description is ASCII. The bodies of /oauth/* are the one
 * exception to the envelope (docs/contract.md 2.1).
 */
export class OAuthError extends Error {
  readonly code: string;
  readonly statusCode: number;
  readonly description: BilingualText;
  readonly headers: Record<string, string>;

  constructor(code: string, statusCode: number, description: BilingualText, headers: Record<string, string> = {}) {
    super(description.en);
    this.description = description;
    this.code = code;
    this.statusCode = statusCode;
    this.headers = headers;
  }
}

export interface ClientAuthenticationDependencies {
  readonly clients: Clients;
  readonly throttle: FailureThrottle;
  readonly secretUses: SecretUses;
}

/**
 * The client that a token request authenticates, by HTTP Basic or in the body (RFC 6749, section 2.3.1). A request
 * without a valid secret counts as a failed authentication, whatever else is wrong with it. Errors after this step do
 * not count: an authenticated client guesses nothing.
 * @throws OAuthError
 */
export async function authenticateClient(
  request: FastifyRequest,
  form: URLSearchParams,
  { clients, throttle, secretUses }: ClientAuthenticationDependencies,
): Promise<Client> {
  try {
    rejectRepeatedParameters(form);
    return clientOf(request, form, clients, secretUses);
  } catch (error) {
    const throttledMs = await throttle.recordFailure(request.ip, claimedClientId(request, form));
    if (throttledMs === 0) throw error;
    throw new OAuthError('temporarily_unavailable', 429, TOO_MANY_FAILURES, retryAfterHeader(throttledMs));
  }
}

const TOO_MANY_FAILURES: BilingualText = {
  en:
    'too many failed logins of this client from this address: check the client secret, or wait for the seconds in ' +
    'Retry-After',
  id:
    'terlalu banyak login gagal dari klien dan alamat ini: periksa client secret, atau tunggu selama jumlah detik di ' +
    'Retry-After',
};
const TWO_WAYS: BilingualText = {
  en: 'the client authenticates in two ways: use one',
  id: 'klien melakukan autentikasi dengan dua cara: gunakan salah satu',
};
const INVALID_CLIENT: BilingualText = {
  en: 'unknown client, wrong secret, or the client is disabled',
  id: 'klien tidak dikenal, secret salah, atau klien dinonaktifkan',
};

function clientOf(request: FastifyRequest, form: URLSearchParams, clients: Clients, secretUses: SecretUses): Client {
  const basic = basicCredentials(request.headers.authorization);
  if (basic !== null && form.has('client_secret')) {
    throw new OAuthError('invalid_request', 400, TWO_WAYS);
  }
  const credentials = basic ?? bodyCredentials(form);
  const client = credentials === null ? undefined : clients.find(credentials.clientId);
  // The secret of an unknown client is compared too, so that the response time does not reveal which clients exist.
  const { secretHash = null, secondSecretHash = null } = client ?? {};
  const match = findMatch(credentials?.clientSecret ?? '', secretHash, secondSecretHash);
  if (client !== undefined && match !== null && !client.disabled) {
    secretUses.record(client.clientId, match);
    return client;
  }
  throw new OAuthError('invalid_client', 401, INVALID_CLIENT, {
    'www-authenticate': 'Basic realm="tiba"',
  });
}

const claimedClientId = (request: FastifyRequest, form: URLSearchParams): string | null =>
  basicCredentials(request.headers.authorization)?.clientId ?? form.get('client_id');

/** RFC 6749, section 3.2: no parameter more than once. */
function rejectRepeatedParameters(form: URLSearchParams): void {
  const seen = new Set<string>();
  for (const name of form.keys()) {
    if (seen.has(name)) {
      const description = { en: `${name} is given more than once`, id: `${name} diberikan lebih dari satu kali` };
      throw new OAuthError('invalid_request', 400, description);
    }
    seen.add(name);
  }
}

interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** RFC 6749, section 2.3.1: both parts are form-encoded before they are joined. */
function basicCredentials(authorization: string | undefined): Credentials | null {
  const encoded = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return null;
  const [clientId = '', clientSecret = ''] = Buffer.from(encoded, 'base64').toString('utf8').split(/:(.*)/s);
  return { clientId: formDecode(clientId), clientSecret: formDecode(clientSecret) };
}

function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

function bodyCredentials(form: URLSearchParams): Credentials | null {
  const clientId = form.get('client_id');
  const clientSecret = form.get('client_secret');
  return clientId === null || clientSecret === null ? null : { clientId, clientSecret };
}
