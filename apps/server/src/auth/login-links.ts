import type { Database } from '../postgres/database.ts';
import { insertLoginLink } from '../postgres/login-links.ts';
import type { Person } from './operator-sessions.ts';
import { generateSecret, hashSecret } from './secrets.ts';

/** The page of the operator listener that the sandbox alone has. */
export const LINK_PATH = '/operator/login/link';

export const LINK_MINUTES = 15;

/** A link that logs a person in, once. For the sandbox, whose people have no identity provider. */
export async function createLoginLink(database: Database, operatorUrl: string, person: Person): Promise<string> {
  const code = generateSecret();
  await insertLoginLink(database, { ...person, codeHash: hashSecret(code), lifetimeSeconds: LINK_MINUTES * 60 });
  return `${operatorUrl}${LINK_PATH}?code=${code}`;
}
