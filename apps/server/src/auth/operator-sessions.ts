import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Database, DatabaseUnavailable } from '../postgres/database.ts';
import {
  findLiveSession,
  insertSession,
  revokeSessions,
  type SessionRecord,
  touchSession,
} from '../postgres/operator-sessions.ts';
import { isRole, type Role } from './roles.ts';
import { hashSecret } from './secrets.ts';
import type { SessionSecrets } from './session-secrets.ts';

/** In characters. OpenID Connect Core 1.0, section 2. */
export const SUBJECT_LENGTH_MAX = 255;

/** A person as the login describes them. */
export interface Person {
  /** Who it is, for the identity provider: stable and unique there. */
  readonly subject: string;
  /** For people. */
  readonly name: string;
  readonly role: Role;
}

/** A person who is logged in. */
export interface PersonInSession extends Person {
  /** The identity provider, which alone makes the subject unique; null for a link. */
  readonly issuer: string | null;
  readonly sessionId: string;
  /** ISO 8601 UTC: when the session ends at the latest. */
  readonly expiresAt: string;
}

export interface OperatorSessionsOptions {
  readonly database: Database;
  /** How long a session lasts at the most, and without a request. */
  readonly lifetimeSeconds: number;
  readonly idleSeconds: number;
  /** The identity provider: sessions of another one do not hold. Null where there is none. */
  readonly issuer: string | null;
  readonly secrets: SessionSecrets;
}

/** Who is logged in, in PostgreSQL: a session holds in all processes, and its end too. */
export interface OperatorSessions {
  readonly lifetimeSeconds: number;
  /** As in `OperatorSessionsOptions`. */
  readonly issuer: string | null;
  /**
   * Begins a session with an ID from `newSessionId`. Resolves to what the cookie holds; PostgreSQL has its hash only.
   * Null when this login has begun a session before: `loginId` is what identifies the login, and null where the login
   * itself can be used once only.
   */
  open(
    database: Database,
    person: Omit<PersonInSession, 'expiresAt'>,
    from: { readonly origin: string; readonly loginId: string | null },
  ): Promise<string | null>;
  /** Null for a session that has ended, was revoked, or never began. */
  find(secret: string): Promise<PersonInSession | null>;
  /** Ends the session of that ID. False when it had ended. */
  end(database: Database, sessionId: string): Promise<boolean>;
}

export function createOperatorSessions(options: OperatorSessionsOptions): OperatorSessions {
  const { database, lifetimeSeconds, idleSeconds, issuer, secrets } = options;
  return {
    lifetimeSeconds,
    issuer,
    async open(inside, person, { origin, loginId }) {
      const secret = secrets.generate();
      const isOpen = await insertSession(inside, {
        ...person,
        secretHash: hashSecret(secret),
        loginHash: loginId === null ? null : hashSecret(loginId),
        origin,
        lifetimeSeconds,
      });
      return isOpen ? secret : null;
    },
    async find(secret) {
      if (!secrets.isOwn(secret)) return null;
      const record = await findLiveSession(database, hashSecret(secret), { idleSeconds, issuer });
      if (record === null) return null;
      if (record.isStale) await touch(database, record.sessionId);
      return toPerson(record);
    },
    async end(inside, sessionId) {
      return (await revokeSessions(inside, { subject: null, sessionId })).length > 0;
    },
  };
}

/** Names a session in lists and records. It opens nothing. */
export const newSessionId = (): string => `os_${randomBytes(10).toString('hex')}`;

/** While PostgreSQL is read-only, people can still read. The session then counts as idle since its last write. */
async function touch(database: Database, sessionId: string): Promise<void> {
  try {
    await touchSession(database, sessionId);
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error;
  }
}

const toPerson = ({ sessionId, issuer, subject, name, role, expiresAt }: SessionRecord): PersonInSession | null =>
  isRole(role) ? { sessionId, issuer, subject, name, role, expiresAt } : null;

const CSRF_TOKEN = 'tiba csrf token';

/** Derived from the cookie, so a page elsewhere, which cannot read the cookie, cannot know it. */
export const csrfTokenOf = (secret: string): string =>
  createHmac('sha256', secret).update(CSRF_TOKEN).digest('base64url');

/** In constant time. */
export function isCsrfToken(secret: string, token: string): boolean {
  const [expected, given] = [Buffer.from(csrfTokenOf(secret)), Buffer.from(token)];
  return expected.length === given.length && timingSafeEqual(expected, given);
}

/**
 * In the record of what operators did, and in proposals. Another issuer may give the same subject to another person
 * (OpenID Connect Core 1.0, section 2); an issuer has no `#`. No client ID has a colon.
 */
export const actorOfPerson = ({ issuer, subject }: Pick<PersonInSession, 'issuer' | 'subject'>): string =>
  issuer === null ? `person:${subject}` : `person:${issuer}#${subject}`;
