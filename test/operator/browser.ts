import assert from 'node:assert/strict';
import { createLoginLink } from '../../apps/server/src/auth/login-links.ts';
import type { Person } from '../../apps/server/src/auth/operator-sessions.ts';
import { assertSuccess } from '../contract/assertions.ts';
import { type Answer, send, type TestService } from '../support/service.ts';

/** A person's browser on the operator listener, as far as the API is concerned. */
export interface Browser {
  /** As the header is sent. */
  readonly cookie: string;
  readonly csrfToken: string;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  /** With the token against forged requests. A header that is '' is left out. */
  act(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

/** Opens a page without following where it leads. */
export const open = (url: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, { headers, redirect: 'manual' });

/** `name=value` of the cookie that an answer sets, and its attributes. */
export function cookieOf(response: Response): { readonly cookie: string; readonly attributes: string } {
  const [first = ''] = response.headers.getSetCookie();
  const [cookie = '', ...attributes] = first.split('; ');
  return { cookie, attributes: attributes.join('; ') };
}

/** By a link, as in the sandbox. */
export async function logIn(service: TestService, person: Person): Promise<Browser> {
  const response = await open(await createLoginLink(service.app.database, service.operatorUrl, person));
  assert.equal(response.status, 303, await response.text());
  return browserOf(service, cookieOf(response).cookie);
}

export async function browserOf(service: TestService, cookie: string): Promise<Browser> {
  const url = (path: string): string => `${service.operatorUrl}/operator/v1/${path}`;
  const get: Browser['get'] = (path, headers = {}) => send(url(path), { headers: { cookie, ...headers } });
  const csrfToken = String(assertSuccess(await get('session'))['csrf_token']);
  return {
    cookie,
    csrfToken,
    get,
    act(method, path, body, headers = {}) {
      const all = {
        cookie,
        'x-csrf-token': csrfToken,
        'sec-fetch-site': 'same-origin',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      };
      const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
      return send(url(path), {
        method,
        headers: sent,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    },
  };
}
