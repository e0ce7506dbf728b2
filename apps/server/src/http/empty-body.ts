import type { FastifyRequest, onRequestHookHandler } from 'fastify';

export const isBodyEmpty = (headers: FastifyRequest['headers']): boolean =>
  (headers['content-length'] ?? '0') === '0' && headers['transfer-encoding'] === undefined;

/**
 * For operations that need no body: many HTTP clients name a content type also where they send nothing, and nothing
 * would then be read as broken JSON. Put it behind the gate.
 */
export const allowEmptyBody: onRequestHookHandler = ({ headers }, _reply, done) => {
  if (isBodyEmpty(headers)) delete headers['content-type'];
  done();
};
