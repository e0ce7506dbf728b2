import http from 'node:http';
import type { FastifyInstance } from 'fastify';
import { ApiError } from './errors.ts';

/**
 * Answers METHOD_NOT_ALLOWED, with `Allow`, for the methods that a path does not have. Call it before the routes are
 * added, and the function that it returns after.
 */
export function collectMethods(app: FastifyInstance): () => void {
  const served = new Map<string, Set<string>>();
  let complete = false;
  app.addHook('onRoute', ({ url, method }) => {
    if (complete) return;
    const methods = served.get(url) ?? new Set();
    for (const each of Array.isArray(method) ? method : [method]) methods.add(each);
    served.set(url, methods);
  });
  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);

  return () => {
    complete = true;
    for (const [url, methods] of served) {
      const allow = [...methods].sort().join(', ');
      const message = {
        en: `Method not allowed: use ${allow}`,
        id: `Metode HTTP tidak diizinkan: gunakan ${allow}`,
      };
      app.route({
        url,
        method: METHODS.filter((method) => !methods.has(method)),
        schema: { hide: true },
        // Before the body is read: no body makes the method right.
        onRequest: () => {
          throw new ApiError('METHOD_NOT_ALLOWED', { message, headers: { allow } });
        },
        handler: () => {},
      });
    }
  };
}

// CONNECT requests a tunnel. Node has no handler for it and closes the connection.
const METHODS = http.METHODS.filter((method) => method !== 'CONNECT');
