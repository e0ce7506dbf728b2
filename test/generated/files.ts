import { readFile } from 'node:fs/promises';
import { send, startTestService, testBanks } from '../support/service.ts';
import { renderBanksPage } from './banks-page.ts';
import { renderConfigurationPage } from './configuration-page.ts';
import { renderFailureReasonsPage } from './failure-reasons-page.ts';
import { renderSchema } from './schema.ts';

const root = new URL('../../', import.meta.url);

/** The content of every generated file, by its path from the root. */
export async function renderGeneratedFiles(): Promise<Record<string, string>> {
  const service = await startTestService();
  try {
    const openapi = await send(`${service.url}/openapi.json`, {});
    return {
      'openapi.json': `${JSON.stringify(JSON.parse(openapi.text), null, 2)}\n`,
      'schema.sql': await renderSchema(service.app.database),
      'docs/configuration.md': renderConfigurationPage(),
      'docs/failure-reasons.md': renderFailureReasonsPage(),
      'docs/banks.md': renderBanksPage(await readFile(fileAt('docs/banks.md'), 'utf8'), testBanks.list()),
    };
  } finally {
    await service.close();
  }
}

export const fileAt = (path: string): URL => new URL(path, root);
