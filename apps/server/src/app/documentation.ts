import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DocumentationDependencies } from '../http/documentation/documentation.ts';
import type { AppContext } from './app-context.ts';
import { defaultLimits } from './postgres.ts';

/** A relative folder of a setting is below it. */
const PROGRAM_FOLDER = fileURLToPath(new URL('../../../../', import.meta.url));

/** What `/docs` serves. `clientUrl` is where clients reach the public listener; it is called when a request arrives. */
export const describeDocumentation = (
  { options: { settings, environment } }: AppContext,
  clientUrl: () => string,
): DocumentationDependencies => ({
  folder: path.resolve(PROGRAM_FOLDER, settings.docsDirectory),
  describe: () => ({
    base_url: clientUrl(),
    sandbox: environment === 'sandbox',
    limits: defaultLimits(settings),
  }),
});
