import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify';
import { isPlainText } from '../../domain/identifiers.ts';
import type { JsonObject } from '../../lib/exact-json.ts';
import { ownProperty } from '../../lib/own-property.ts';
import { jsonObject, parseJsonBody, requireJson } from '../request-body.ts';
import { malformed, missing } from './response-codes.ts';

/** Bodies stay bytes: a signature covers them as they were sent, and is checked before they are parsed. */
export function readRawBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
}

/** An onRequest hook: the body's type is checked before the body is read. */
export const requireJsonType: onRequestHookHandler = function (request, reply, done) {
  if (request.headers['content-type'] === undefined) done(missing('Content-Type'));
  else requireJson.call(this, request, reply, done);
};

export const bodyBytes = ({ body }: FastifyRequest): Buffer => (Buffer.isBuffer(body) ? body : Buffer.alloc(0));

/** @throws ApiError INVALID_FORMAT when the body is not a JSON object */
export const bodyFields = (request: FastifyRequest): JsonObject => jsonObject(parseJsonBody(bodyBytes(request)));

/**
 * A text of at most `lengthMax` characters; null where it is missing, null or empty.
 * @throws SnapRejection for anything else
 */
export function optionalText(fields: JsonObject, name: string, lengthMax: number): string | null {
  const value = ownProperty(fields, name) ?? null;
  if (value === null || value === '') return null;
  if (typeof value !== 'string' || !isPlainText(value, lengthMax)) throw malformed(name, textOf(lengthMax));
  return value;
}

const textOf = (lengthMax: number): string => `a string of at most ${lengthMax} characters, without control characters`;

/** As `optionalText`, for a field that must be there. */
export function mandatoryText(fields: JsonObject, name: string, lengthMax: number): string {
  const text = optionalText(fields, name, lengthMax);
  if (text === null) throw missing(name);
  return text;
}
