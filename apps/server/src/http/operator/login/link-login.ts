import type { FastifyInstance } from 'fastify';
import { LINK_MINUTES, LINK_PATH } from '../../../auth/login-links.ts';
import { isRole } from '../../../auth/roles.ts';
import { hashSecret } from '../../../auth/secrets.ts';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import { takeLoginLink } from '../../../postgres/login-links.ts';
import { searchParameters } from '../../query-parameters.ts';
import { beginSession, type LoginDependencies, loginRefused } from './begin-session.ts';
import { returnPath } from './return-to.ts';

/** The sandbox's login: a link that `npm start` prints. Production has no such route. */
export function linkLogin(app: FastifyInstance, dependencies: LoginDependencies): void {
  const { limitLogins: onRequest } = dependencies;
  app.get(LINK_PATH, { schema: { hide: true }, onRequest }, async (request, reply) => {
    const { code = '', return_to } = searchParameters(request.originalUrl, ['code', 'return_to']);
    const returnTo = returnPath(return_to);
    const person = await takeLoginLink(dependencies.database, hashSecret(code));
    if (person === null || !isRole(person.role)) throw loginRefused(LINK_USED);
    return beginSession(dependencies, request, reply, {
      person: { ...person, role: person.role },
      // The link is used up.
      loginId: null,
      returnTo,
    });
  });
}

export const ANOTHER_LINK = 'npm run manage -- session link';
const LINK_USED = englishOnly(
  `This link was used, or has expired after ${LINK_MINUTES} minutes. Make another one in the terminal: ${ANOTHER_LINK}`,
);
