import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** docs/other-languages.md. Its commands are run by `npm run campaign -- languages`: generators take minutes. */

const ROOT = new URL('../../', import.meta.url);
const SAMPLES = new URL('docs/samples/other-languages/', ROOT);
/** What OpenAPI 3.0 does not know. */
const NEW_IN_3_1 = /"(?:const|\$defs|prefixItems|contentEncoding|webhooks|identifier)":|"type": (?:\[|"null")/;

test('the page shows each program as it is', async () => {
  const page = await readFile(new URL('docs/other-languages.md', ROOT), 'utf8');
  for (const [language, file] of [
    ['python', 'happy_path.py'],
    ['go', 'main.go'],
  ] as const) {
    const sample = await readFile(new URL(file, SAMPLES), 'utf8');
    assert.ok(page.includes(`\`\`\`${language}\n${sample}\`\`\``), file);
  }
});

test('the 3.0 form has every operation and schema of openapi.json, and nothing that is new in 3.1', async (context) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'tiba-openapi-'));
  context.after(() => rm(folder, { recursive: true, force: true }));
  const [input, output] = [fileURLToPath(new URL('openapi.json', ROOT)), path.join(folder, 'openapi-3.0.json')];
  await promisify(execFile)(process.execPath, [fileURLToPath(new URL('openapi-3.0.mjs', SAMPLES)), input, output]);
  const text = await readFile(output, 'utf8');
  const document = JSON.parse(text);
  assert.equal(document.openapi, '3.0.3');
  assert.doesNotMatch(text, NEW_IN_3_1);
  const before = JSON.parse(await readFile(input, 'utf8'));
  assert.deepEqual(Object.keys(document.paths), Object.keys(before.paths));
  const references = new Set(
    [...text.matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)].map(([, kind, name]) => `${kind} ${name}`),
  );
  assert.ok(references.size > 50, String(references.size));
  for (const reference of references) {
    const [kind = '', name = ''] = reference.split(' ');
    assert.ok(name in (document.components[kind] ?? {}), reference);
  }
  const { amount, processed_at: processedAt } = document.components.schemas.Transaction.properties;
  assert.deepEqual([amount.type, processedAt.nullable], ['number', true]);
});
