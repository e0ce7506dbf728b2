import type { FastifyRequest } from 'fastify';
import { hasRole } from '../../auth/roles.ts';
import { isPlainText, withoutBidiControls } from '../../domain/identifiers.ts';
import { englishOnly } from '../../lib/bilingual-text.ts';
import type { JsonObject } from '../../lib/exact-json.ts';
import { ownProperty } from '../../lib/own-property.ts';
import type { Actor } from '../../postgres/operator-actions.ts';
import { callerOf } from '../authorize.ts';
import { invalidRequest } from '../query-parameters.ts';
import { jsonObject } from '../request-body.ts';

/** What every action of an operator has: who, from where, and why. */

const REASON_LENGTH_MIN = 5;
const REASON_LENGTH_MAX = 500;

export function actorOf(request: FastifyRequest): Actor {
  const { client, person } = callerOf(request);
  const actor = { actor: client.clientId, origin: request.ip };
  return person === undefined ? actor : { ...actor, person };
}

/**
 * The body's `reason`, without characters that turn the direction of writing: with them a record could display another
 * reason than the one that is stored. @throws ApiError INVALID_FORMAT, INVALID_REQUEST
 */
export function reasonOf(request: FastifyRequest): string {
  const given = ownProperty(jsonObject(request.body), 'reason');
  const reason = typeof given === 'string' ? withoutBidiControls(given).trim() : '';
  if (reason.length >= REASON_LENGTH_MIN && isPlainText(reason, REASON_LENGTH_MAX)) return reason;
  throw invalidRequest(
    englishOnly(`reason must say why, in ${REASON_LENGTH_MIN} to ${REASON_LENGTH_MAX} characters of one line`),
  );
}

/** @throws ApiError INVALID_REQUEST for a field that the action does not have: a misspelled one would be ignored */
export function fieldsOf(request: FastifyRequest, names: readonly string[]): JsonObject {
  const body = jsonObject(request.body);
  if (Object.keys(body).every((name) => names.includes(name))) return body;
  throw invalidRequest(englishOnly(`the body has a field that this action does not have; it has ${names.join(', ')}`));
}

/**
 * Whether the caller may know more of an operator than the name. As the record of actions, this is for engineers and
 * machines.
 */
export function showsActors(request: FastifyRequest): boolean {
  const { person } = callerOf(request);
  return person === undefined || hasRole(person.role, 'engineer');
}
