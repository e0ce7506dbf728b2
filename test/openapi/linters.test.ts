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

interface Fault {
  readonly file: string;
  readonly rule: string;
}

interface Linter {
  readonly name: string;
  readonly args: readonly string[];
  readonly faultsIn: (report: string) => Fault[];
}

const LINTERS: readonly Linter[] = [
  {
    name: 'redocly',
    // The strict rules report each warning as an error.
    args: ['lint', '--extends=recommended-strict', '--max-problems=1000', '--format=json'],
    // One JSON text after the other, for each document.
    faultsIn: (report) =>
      (JSON.parse(`[${report.replaceAll('\n}{\n', '\n},{\n')}]`) as RedoclyReport[])
        .flatMap(({ problems }) => problems)
        .map(({ ruleId, location }) => ({ file: location[0]?.source.ref ?? '', rule: ruleId })),
  },
  {
    name: 'spectral',
    args: ['lint', '--quiet', '--format=json', `--ruleset=${path.join(root, 'test/openapi/spectral.json')}`],
    faultsIn: (report) =>
      (JSON.parse(report) as SpectralReport).map(({ code, source }) => ({ file: source, rule: code })),
  },
];

interface RedoclyReport {
  readonly problems: readonly {
    readonly ruleId: string;
    readonly location: readonly { readonly source: { readonly ref: string } }[];
  }[];
}

type SpectralReport = readonly { readonly code: string; readonly source: string }[];

let directory: string;
before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'tiba-openapi-'));
});
after(() => rm(directory, { recursive: true }));

/** In an empty folder, so that no configuration is found there. Neither linter asks or tells another server. */
function lint({ name, args, faultsIn }: Linter, files: readonly string[]): Promise<Fault[]> {
  const command = path.join(root, 'node_modules/.bin', name);
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', FORCE_COLOR: '0' };
  const { promise, resolve, reject } = Promise.withResolvers<Fault[]>();
  execFile(
    command,
    [...args, ...files],
    { cwd: directory, env, maxBuffer: 64 * 1024 * 1024 },
    (_error, stdout, stderr) => {
      try {
        resolve(faultsIn(stdout));
      } catch (cause) {
        reject(new Error(`${name} reports no JSON: ${stdout}${stderr}`, { cause }));
      }
    },
  );
  return promise;
}

for (const linter of LINTERS) {
  test(`${linter.name} finds no error and no warning in the documents, and finds a fault that is planted`, async () => {
    const planted = path.join(directory, `${linter.name}.json`);
    await writeFile(planted, JSON.stringify(withFaults()));
    // Together, because a linter takes longer to start than to read a document.
    const faults = await lint(linter, [...documents, planted]);
    const isPlanted = ({ file }: Fault): boolean => path.basename(file) === path.basename(planted);
    assert.deepEqual(
      faults.filter((fault) => !isPlanted(fault)),
      [],
    );
    const rules = faults.filter(isPlanted).map(({ rule }) => rule);
    for (const fault of [/example/i, /operation-operationId/]) assert.match(rules.join(' '), fault);
  });
}

/** One operation of the public document, with an example that its schema does not allow, and without an operationId. */
function withFaults(): unknown {
  const document = structuredClone(documentOf('public')) as unknown as {
    paths: Record<string, { post: { operationId?: string; requestBody: { content: Record<string, object> } } }>;
  };
  const operation = document.paths['/api/v1/check-account']?.post ?? assert.fail();
  document.paths = { '/api/v1/check-account': { post: operation } };
  delete operation.operationId;
  Object.assign(operation.requestBody.content['application/json'] ?? assert.fail(), { example: { bank_code: 14 } });
  return document;
}
