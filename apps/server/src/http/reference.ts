import swagger from '@fastify/swagger';
import scalar from '@scalar/fastify-api-reference';
import type { FastifyInstance } from 'fastify';
import { AnyError } from './schemas.ts';

/** Collects the operations' schemas from now on: register it before them. */
export async function describeApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Tiba',
        version: '1',
        description:
          'Can it arrive, and has it arrived: check a bank account before paying to it, and a disbursement after.',
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

/** `/openapi.json` and the page that shows it, `/reference`. */
export async function publishApi(app: FastifyInstance): Promise<void> {
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
  await app.register(scalar, {
    routePrefix: '/reference',
    // The page asks nobody else's server for anything.
    configuration: { url: '/openapi.json', withDefaultFonts: false, telemetry: false },
    logLevel: 'silent',
  });
}
