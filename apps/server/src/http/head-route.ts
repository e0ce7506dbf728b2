import { Readable } from 'node:stream';
import type { FastifyInstance, onSendHookHandler, RouteOptions } from 'fastify';

/**
 * Adds HEAD beside a GET route: the same checks, the same handler, and so the same status and headers, counted the same
 * (RFC 9110, section 9.3.2). Node sends no body for it. Fastify's own HEAD routes read streams to their end, and give
 * 304 a Content-Length of 0.
 */
export function addHeadRoute(app: FastifyInstance, route: RouteOptions): void {
  if (route.method === 'GET') app.route({ ...route, method: 'HEAD', schema: { hide: true }, onSend: endStream });
}

/** The headers of a stream are known before its first byte. A stream of status changes would last for minutes. */
const endStream: onSendHookHandler = (_request, _reply, payload, done) => {
  if (!(payload instanceof Readable)) {
    done(null, payload);
    return;
  }
  payload.destroy();
  done(null, null);
};
