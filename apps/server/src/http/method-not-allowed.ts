import type { FastifyInstance, FastifyRequest } from 'fastify';
import createRouter from 'find-my-way';
import type { BilingualText } from '../lib/bilingual-text.ts';
import { ApiError } from './errors.ts';

/** The paths of a listener, and the methods that each has. */
export interface ServedMethods {
  /**
   * Adds routes that answer METHOD_NOT_ALLOWED, with `Allow`, for the methods of Fastify that a path does not have.
   * Without them, another route might match: `GET /callback-deliveries/replay` asks for no delivery with that ID.
   */
  addRefusals(): void;
  /** Adds a path that has no method, and why: any method is METHOD_NOT_ALLOWED with an empty `Allow`. */
  addUnserved(url: string, reason: BilingualText): void;
  /**
   * The same answer to a request for which no route was found, with one of the many other methods. Undefined when the
   * listener does not have the path.
   */
  refusalOf(request: FastifyRequest): ApiError | undefined;
}

/** Call it before the routes are added. `maxParamLength`: as in the options of the listener's router. */
export function collectMethods(app: FastifyInstance, maxParamLength: number): ServedMethods {
  const served = new Map<string, Set<string>>();
  const unserved = new Map<string, BilingualText>();
  let complete = false;
  app.addHook('onRoute', ({ url, method }) => {
    if (complete) return;
    const methods = served.get(url) ?? new Set();
    for (const each of [method].flat()) methods.add(each);
    served.set(url, methods);
  });

  function refusal(url: string): ApiError {
    const allow = [...(served.get(url) ?? [])].sort().join(', ');
    const message = unserved.get(url) ?? {
      en: `Method not allowed: use ${allow}`,
      id: `Metode HTTP tidak diizinkan: gunakan ${allow}`,
    };
    return new ApiError('METHOD_NOT_ALLOWED', { message, headers: { allow } });
  }

  let paths: ReturnType<typeof createRouter> | undefined;
  function openPaths(): ReturnType<typeof createRouter> {
    const opened = createRouter({ maxParamLength });
    for (const url of served.keys()) opened.on('GET', url, () => {}, url);
    return opened;
  }

  return {
    addUnserved(url, reason) {
      served.set(url, new Set());
      unserved.set(url, reason);
    },
    addRefusals() {
      complete = true;
      for (const [url, methods] of served) {
        app.route({
          url,
          method: app.supportedMethods.filter((method) => !methods.has(method)),
          schema: { hide: true },
          // Before the body is read: no body makes the method right.
          onRequest: () => {
            throw refusal(url);
          },
          handler: () => {},
        });
      }
    },
    refusalOf(request) {
      paths ??= openPaths();
      const found = paths.find('GET', request.url);
      if (found === null) return undefined;
      const url = String(found.store);
      request.route = url;
      return refusal(url);
    },
  };
}
