import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DOCUMENTS, documentOf } from '../support/openapi.ts';

/**
 * Independent judges of the OpenAPI documents: Redocly's linter with its strictest rules and Spectral with its
 * recommended ones. Neither finds an error or a warning.
 */

const root = fileURLToPath(new URL('../..', import.meta.url));
const documents = Object.values(DOCUMENTS).map((file) => path.join(root, file));

const LINTERS = {
  // The strict rules report each warning as an error.
  redocly: ['lint', '--extends=recommended-strict', '--max-problems=20'],
  spectral: ['lint', '--quiet', '--fail-severity=hint', `--ruleset=${path.join(root, 'test/openapi/spectral.json')}`],
} as const;
type Linter = keyof typeof LINTERS;

let directory: string;
before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'tiba-openapi-'));
});
after(() => rm(directory, { recursive: true }));

/** In an empty folder, so that no configuration is found there. Neither linter asks or tells another server. */
function lint(
  linter: Linter,
  files: readonly string[],
): Promise<{ readonly failed: boolean; readonly report: string }> {
  const command = path.join(root, 'node_modules/.bin', linter);
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', FORCE_COLOR: '0' };
  const { promise, resolve } = Promise.withResolvers<{ failed: boolean; report: string }>();
  execFile(command, [...LINTERS[linter], ...files], { cwd: directory, env }, (error, stdout, stderr) =>
    resolve({ failed: error !== null, report: stdout + stderr }),
  );
  return promise;
}

for (const linter of Object.keys(LINTERS) as Linter[]) {
  test(`${linter} finds no error and no warning in the documents, and finds a fault that is planted`, async () => {
    const { failed, report } = await lint(linter, documents);
    assert.ok(!failed, report);

    const faulty = path.join(directory, `${linter}.json`);
    await writeFile(faulty, JSON.stringify(withFaults()));
    const planted = await lint(linter, [faulty]);
    assert.ok(planted.failed, planted.report);
    for (const fault of [/example/i, /operationId|operation-operationId/i]) assert.match(planted.report, fault);
  });
}

/** The public document with an example that its schema does not allow, and without an operationId. */
function withFaults(): unknown {
  const document = structuredClone(documentOf('public')) as unknown as {
    paths: Record<string, { post: { operationId?: string; requestBody: { content: Record<string, object> } } }>;
  };
  const operation = document.paths['/api/v1/check-account']?.post ?? assert.fail();
  delete operation.operationId;
  Object.assign(operation.requestBody.content['application/json'] ?? assert.fail(), { example: { bank_code: 14 } });
  return document;
}
