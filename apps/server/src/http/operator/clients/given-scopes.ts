import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../../auth/authenticator.ts';
import { hasRole, ROLE_OF_SCOPE } from '../../../auth/roles.ts';
import { isScope, PUBLIC_SCOPES, type Scope } from '../../../auth/scopes.ts';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import { callerOf } from '../../authorize.ts';
import { ApiError, bearerChallenge } from '../../errors.ts';

/**
 * Refuses scopes that the caller could not use itself, because the secret of a client gives its scopes. Those of the
 * public listener are what clients are registered for. A second person who approves cannot help: no role has feed:write
 * (docs/decisions/0047). `command` of `npm run manage` does the same.
 * @throws ApiError FORBIDDEN
 */
export function assertMayGive(request: FastifyRequest, scopes: readonly string[], command: string): void {
  const caller = callerOf(request);
  const refused = scopes.filter((scope) => !(isScope(scope) && mayGive(caller, scope)));
  if (refused.length === 0) return;
  const { person } = caller;
  const lacking = person === undefined ? 'your access token lacks' : `no person with the role ${person.role} has`;
  throw new ApiError('FORBIDDEN', {
    message: englishOnly(
      `This would give ${refused.join(', ')}, which ${lacking}, and nothing was changed: where the service runs, use ` +
        `npm run manage -- ${command}`,
    ),
    headers: bearerChallenge(),
  });
}

function mayGive({ scopes, person }: Caller, scope: Scope): boolean {
  if ((PUBLIC_SCOPES as readonly Scope[]).includes(scope)) return true;
  if (person === undefined) return scopes.has(scope);
  const role = ROLE_OF_SCOPE[scope];
  return role !== null && hasRole(person.role, role);
}
