import type { FastifyInstance } from 'fastify';
import { createPublishedFile, type PublishedFile, type SendFile } from '../published-files.ts';

/** Serves the OpenAPI document of a listener at `path`. It is built once: requests for it need no token. */
export function publishDescription(app: FastifyInstance, path: string, send: SendFile): void {
  let description: Promise<PublishedFile> | undefined;
  app.get(path, { schema: { hide: true } }, async (request, reply) =>
    send(request, reply, await (description ??= describe(app))),
  );
}

const describe = (app: FastifyInstance): Promise<PublishedFile> =>
  createPublishedFile('application/json; charset=utf-8', Buffer.from(JSON.stringify(app.swagger())));
