import type { onRequestHookHandler } from 'fastify';

/**
 * For operations that need no body: many HTTP clients name a content type also where they send nothing, and nothing
 * would then be read as broken JSON. Put it behind the gate.
 */
export const allowEmptyBody: onRequestHookHandler = (request, _reply, done) => {
  const { headers } = request;
  const isEmpty = (headers['content-length'] ?? '0') === '0' && headers['transfer-encoding'] === undefined;
  if (isEmpty) delete headers['content-type'];
  done();
};
