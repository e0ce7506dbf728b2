import swagger from '@fastify/swagger';
import Fastify, { type FastifyInstance } from 'fastify';
import type { SlidingWindow } from '../rate-limit/sliding-window.ts';
import { describeLanguage, LANGUAGE_PARAMETERS, LANGUAGE_RESPONSE_HEADERS } from './openapi-language.ts';
import { createFileSender, createPublishedFile, type PublishedFile } from './published-files.ts';
import { AnyError } from './schemas.ts';

/** Collects the schemas of the operations. Register it before them. */
export async function describeApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    transformObject: (document) => {
      if (!('openapiObject' in document)) return document.swaggerObject;
      describeLanguage(document.openapiObject.paths);
      return document.openapiObject;
    },
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Tiba',
        version: '1',
        description: 'Check a bank account before a disbursement to it, and the status of the disbursement after.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'This service' }],
      components: {
        parameters: LANGUAGE_PARAMETERS,
        headers: LANGUAGE_RESPONSE_HEADERS,
        schemas: { Error: AnyError },
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description: 'An access token from `POST /oauth/token` (RFC 6749, client credentials).',
          },
        },
      },
    },
  });
}

const PAGE = '/reference/';
const SCRIPT = `${PAGE}js/scalar.js` as const;

/** `/openapi.json`, and `/reference`, the page that shows it. `window` counts the requests for files by address. */
export function publishApi(app: FastifyInstance, window: Pick<SlidingWindow, 'take'>): void {
  const send = createFileSender(window);
  let description: Promise<PublishedFile> | undefined;
  app.get('/openapi.json', { schema: { hide: true } }, async (request, reply) =>
    send(request, reply, await (description ??= describe(app))),
  );
  app.get('/reference', { schema: { hide: true } }, (_request, reply) => reply.redirect(PAGE, 301));
  let files: Promise<Record<typeof PAGE | typeof SCRIPT, PublishedFile>> | undefined;
  for (const url of [PAGE, SCRIPT] as const) {
    app.get(url, { schema: { hide: true } }, async (request, reply) => {
      const rendered = await (files ??= renderReferencePage());
      return send(request, reply, rendered[url]);
    });
  }
}

/** Built once: it takes milliseconds, and requests for it need no token. */
const describe = (app: FastifyInstance): Promise<PublishedFile> =>
  createPublishedFile('application/json; charset=utf-8', Buffer.from(JSON.stringify(app.swagger())));

/**
 * The page is megabytes of script and two hundred modules, so it is loaded at its first request and not at the start.
 */
async function renderReferencePage(): Promise<Record<typeof PAGE | typeof SCRIPT, PublishedFile>> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const renderer = Fastify();
  await renderer.register(scalar, {
    routePrefix: PAGE,
    // The page loads nothing from other servers.
    configuration: { url: '/openapi.json', withDefaultFonts: false, telemetry: false },
  });
  async function render(url: string): Promise<PublishedFile> {
    const { headers, rawPayload } = await renderer.inject(url);
    return createPublishedFile(String(headers['content-type']), rawPayload);
  }
  const files = { [PAGE]: await render(PAGE), [SCRIPT]: await render(SCRIPT) };
  await renderer.close();
  return files;
}
