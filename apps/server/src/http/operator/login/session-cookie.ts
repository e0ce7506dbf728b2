import type { FastifyReply, FastifyRequest } from 'fastify';
import { SESSION_SECRET_LENGTH } from '../../../auth/session-secrets.ts';

/** A cookie of the operator listener (RFC 6265). Scripts cannot read it, and pages elsewhere cannot use it. */
export interface Cookie {
  /** Null where the request has none, or none of this form. */
  read(request: Pick<FastifyRequest, 'headers'>): string | null;
  set(reply: FastifyReply, value: string, maxAgeSeconds: number): void;
  /** A header that removes it. */
  readonly removal: Readonly<Record<'set-cookie', string>>;
}

/**
 * With TLS the name begins with `__Host-`: browsers then take it from this host only, over TLS only, for all paths.
 * `SameSite=Lax` sends it with the redirect of the login, and with no request that a page elsewhere makes in the
 * background.
 */
export function createCookie(name: string, isSecure: boolean, form: RegExp): Cookie {
  const fullName = isSecure ? `__Host-${name}` : name;
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  return {
    read({ headers: { cookie = '' } }) {
      const pair = cookie
        .split(';')
        .map((each) => each.trim())
        .find((each) => each.startsWith(`${fullName}=`));
      const value = pair?.slice(fullName.length + 1) ?? '';
      return form.test(value) ? value : null;
    },
    set(reply, value, maxAgeSeconds) {
      reply.header('set-cookie', `${fullName}=${value}; ${attributes}; Max-Age=${maxAgeSeconds}`);
    },
    removal: { 'set-cookie': `${fullName}=; ${attributes}; Max-Age=0` },
  };
}

const SECRET = new RegExp(`^[A-Za-z0-9_-]{${SESSION_SECRET_LENGTH}}$`);

export const createSessionCookie = (isSecure: boolean): Cookie => createCookie('tiba-operator', isSecure, SECRET);
