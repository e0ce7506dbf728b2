import { createHash } from 'node:crypto';
import swagger from '@fastify/swagger';
import Fastify, { type FastifyInstance } from 'fastify';
import { matchesEntityTag } from './request-headers.ts';
import { AnyError } from './schemas.ts';

/** Collects the schemas of the operations. Register it before them. */
export async function describeApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
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
const SCRIPT = `${PAGE}js/scalar.js`;

/** `/openapi.json`, and `/reference`, the page that shows it. */
export function publishApi(app: FastifyInstance): void {
  let description: Description | undefined;
  app.get('/openapi.json', { schema: { hide: true } }, (request, reply) => {
    const { body, tag } = (description ??= describe(app));
    const ifNoneMatch = request.headers['if-none-match'];
    reply.header('etag', tag);
    if (ifNoneMatch !== undefined && matchesEntityTag(ifNoneMatch, tag)) reply.code(304).send();
    else reply.header('content-type', 'application/json; charset=utf-8').send(body);
  });
  app.get('/reference', { schema: { hide: true } }, (_request, reply) => reply.redirect(PAGE, 301));
  let files: Promise<ReadonlyMap<string, File>> | undefined;
  for (const url of [PAGE, SCRIPT]) {
    app.get(url, { schema: { hide: true } }, async (_request, reply) => {
      const file = (await (files ??= renderReferencePage())).get(url);
      return reply.header('content-type', file?.type).send(file?.body);
    });
  }
}

interface Description {
  readonly body: Buffer;
  readonly tag: string;
}

/** Built once: it takes milliseconds, and requests for it need no token. */
function describe(app: FastifyInstance): Description {
  const body = Buffer.from(JSON.stringify(app.swagger()));
  return { body, tag: `"${createHash('sha256').update(body).digest('base64url')}"` };
}

interface File {
  readonly type: string;
  readonly body: Buffer;
}

/**
 * The page is megabytes of script and two hundred modules, so it is loaded at its first request and not at the start.
 */
async function renderReferencePage(): Promise<ReadonlyMap<string, File>> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const renderer = Fastify();
  await renderer.register(scalar, {
    routePrefix: PAGE,
    // The page loads nothing from other servers.
    configuration: { url: '/openapi.json', withDefaultFonts: false, telemetry: false },
  });
  const files = new Map<string, File>();
  for (const url of [PAGE, SCRIPT]) {
    const { headers, rawPayload: body } = await renderer.inject(url);
    files.set(url, { type: String(headers['content-type']), body });
  }
  await renderer.close();
  return files;
}
