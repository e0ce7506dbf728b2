import Fastify, { type FastifyInstance } from 'fastify';
import { createPublishedFile, type PublishedFile, type SendFile } from '../published-files.ts';

const PAGE = '/reference/';
/** Where `@scalar/fastify-api-reference` has its script below the page. */
const SCALAR = `${PAGE}js/scalar.js` as const;
const START = `${PAGE}js/start.js` as const;
type File = typeof PAGE | typeof SCALAR | typeof START;

/**
 * The page loads and calls nothing but this service, whatever its script tries, and no other page can embed it. Scalar
 * writes its styles into the page; they cannot run code.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** `/reference`, the page that shows `/openapi.json` and lets a developer log in and try the operations. */
export function publishReferencePage(app: FastifyInstance, send: SendFile): void {
  app.get('/reference', { schema: { hide: true } }, (_request, reply) => reply.redirect(PAGE, 301));
  let files: Promise<Record<File, PublishedFile>> | undefined;
  for (const url of [PAGE, SCALAR, START] as const) {
    app.get(url, { schema: { hide: true } }, async (request, reply) => {
      const rendered = await (files ??= renderFiles());
      return send(request, reply.headers(HEADERS), rendered[url]);
    });
  }
}

const HTML = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Tiba API reference</title>
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <link rel="icon" href="data:,">
  </head>
  <body>
    <div id="app"></div>
    <script src="js/scalar.js"></script>
    <script src="js/start.js"></script>
  </body>
</html>
`;

/**
 * Scalar's services are off: its page would otherwise offer to upload the description, ask its assistant, or send
 * requests by way of its proxy.
 */
const CONFIGURATION = {
  url: '/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
  persistAuth: false,
  // The link to its maker.
  customCss: '.scalar-app a[href*="scalar.com"] { display: none }',
  authentication: { preferredSecurityScheme: 'accessToken' },
};

/** The script is megabytes and its package two hundred modules, so it is loaded at the first request for the page. */
async function renderFiles(): Promise<Record<File, PublishedFile>> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const renderer = Fastify();
  await renderer.register(scalar, { routePrefix: PAGE, configuration: { url: CONFIGURATION.url } });
  const { headers, rawPayload } = await renderer.inject(SCALAR);
  await renderer.close();
  const script = `Scalar.createApiReference('#app', ${JSON.stringify(CONFIGURATION)});\n`;
  return {
    [PAGE]: await createPublishedFile('text/html; charset=utf-8', Buffer.from(HTML)),
    [SCALAR]: await createPublishedFile(String(headers['content-type']), rawPayload),
    [START]: await createPublishedFile('text/javascript; charset=utf-8', Buffer.from(script)),
  };
}
