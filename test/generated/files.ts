import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { send, startTestService, type TestService, testBanks } from '../support/service.ts';
import { renderBanksPage } from './banks-page.ts';
import { renderClientTypes, renderConsoleTypes } from './client-types.ts';
import { renderConfigurationPage } from './configuration-page.ts';
import { renderDashboard } from './dashboard/render.ts';
import { renderFailureReasonsPage } from './failure-reasons-page.ts';
import { renderGuides } from './guides.ts';
import { renderSchema } from './schema.ts';

const root = new URL('../../', import.meta.url);

/** The content of every generated file, by its path from the root. */
export async function renderGeneratedFiles(): Promise<Record<string, string>> {
  const service = await startTestService();
  try {
    const openapi = await renderJson(service, `${service.url}/openapi.json`);
    const operatorOpenapi = await renderJson(service, `${service.operatorUrl}/openapi-operator.json`);
    return {
      'openapi.json': openapi,
      'openapi-operator.json': operatorOpenapi,
      'apps/console/src/generated/api.ts': renderConsoleTypes(operatorOpenapi),
      'packages/client/src/generated/api.ts': renderClientTypes(openapi),
      'schema.sql': await renderSchema(service.app.database),
      'deploy/grafana/dashboards/tiba.json': renderDashboard(),
      'docs/configuration.md': renderConfigurationPage(),
      'docs/failure-reasons.md': renderFailureReasonsPage(),
      'docs/banks.md': renderBanksPage(await readFile(fileAt('docs/banks.md'), 'utf8'), testBanks.list()),
      ...(await renderGuides()),
    };
  } finally {
    await service.close();
  }
}

/** The address of the public listener differs from run to run. */
async function renderJson(service: TestService, url: string): Promise<string> {
  const { status, text } = await send(url, {});
  assert.equal(status, 200, JSON.stringify(service.logged.find(({ err }) => err !== undefined)));
  const description: unknown = JSON.parse(text.replaceAll(service.url, 'https://tiba.example.com'));
  return `${JSON.stringify(description, null, 2)}\n`;
}

export const fileAt = (path: string): URL => new URL(path, root);
